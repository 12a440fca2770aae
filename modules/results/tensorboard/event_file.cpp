// SPDX-License-Identifier: Apache-2.0
#include "results/tensorboard/event_file.h"

#include <fmt/format.h>
#include <nmmintrin.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <numeric>
#include <protozero/pbf_writer.hpp>

#include "base/numbers.h"

namespace rnnlab::tensorboard {

__attribute__((target("sse4.2"))) uint32_t crc32c(std::string_view bytes) {
  uint64_t crc = 0xffffffff;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    crc = _mm_crc32_u64(crc, word);
    bytes.remove_prefix(sizeof(word));
  }
  auto narrow = static_cast<uint32_t>(crc);
  for (const char byte : bytes) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(byte));
  return ~narrow;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";

// The fields of Event and SessionLog in TensorFlow's event.proto.
enum class EventField : protozero::pbf_tag_type {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kGraphDef = 4,
  kSummary = 5,
  kSessionLog = 7
};
enum class SessionLogField : protozero::pbf_tag_type { kStatus = 1 };
constexpr int32_t kSessionStart = 1;

template <class Field>
constexpr protozero::pbf_tag_type tag(Field field) {
  return static_cast<protozero::pbf_tag_type>(field);
}

std::string as_little_endian(uint64_t value, size_t num_bytes) {
  std::string bytes;
  for (size_t i = 0; i < num_bytes; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

// TFRecord masks checksums, because a checksum of data that contain checksums would be weak.
std::string masked_checksum(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return as_little_endian(((crc >> 15) | (crc << 17)) + 0xa282ead8U, sizeof(crc));
}

// Returns the seconds in an event file's name; 0 for every other name.
int64_t seconds_in(const std::string& name) {
  if (!name.starts_with(kPrefix)) return 0;
  const std::string digits = name.substr(kPrefix.size(), name.find('.', kPrefix.size()) - kPrefix.size());
  return parse_int64(digits).value_or(0);
}

// Readers read files in the order of their names, so a new file gets a later time than the existing files.
int64_t seconds_for_new_file(const fs::path& folder) {
  int64_t seconds = std::time(nullptr);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    seconds = std::max(seconds, seconds_in(entry.path().filename().string()) + 1);
  return seconds;
}

fs::path new_path(const fs::path& folder, std::string machine) {
  std::ranges::replace(machine, '/', '-');
  if (machine.empty()) machine = kAnyMachine;
  return folder / fmt::format("{}{:010}.{}.{}", kPrefix, seconds_for_new_file(folder), machine, ::getpid());
}

std::string event_at(int64_t step, EventField what, std::string_view data) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(tag(EventField::kWallTime), wall_time());
  writer.add_int64(tag(EventField::kStep), step);
  writer.add_bytes(tag(what), data.data(), data.size());
  return event;
}

}  // namespace

std::string as_record(std::string_view data) {
  const std::string length = as_little_endian(data.size(), sizeof(uint64_t));
  return length + masked_checksum(length) + std::string(data) + masked_checksum(data);
}

EventFile::EventFile(const fs::path& folder, std::string machine) : file_(new_path(folder, std::move(machine))) {
  append_event(event_at(0, EventField::kFileVersion, "brain.Event:2"));
}

void EventFile::append_start(int64_t first_step) {
  std::string log;
  protozero::pbf_writer(log).add_enum(tag(SessionLogField::kStatus), kSessionStart);
  append_event(event_at(first_step, EventField::kSessionLog, log));
}

void EventFile::append_summary(int64_t step, std::string_view summary) {
  append_event(event_at(step, EventField::kSummary, summary));
}

void EventFile::append_graph(std::string_view graph_def) {
  append_event(event_at(0, EventField::kGraphDef, graph_def));
}

void EventFile::append_event(std::string_view event) { file_.append(as_record(event)); }

std::string scalar_summary(std::string_view tag, double value) {
  constexpr protozero::pbf_tag_type kValue = 1, kTag = 1, kSimpleValue = 2;
  std::string summary;
  protozero::pbf_writer writer(summary);
  protozero::pbf_writer message(writer, kValue);
  message.add_string(kTag, tag.data(), tag.size());
  message.add_float(kSimpleValue, static_cast<float>(value));
  return summary;
}

namespace {

std::vector<double> right_edges(const Histogram& histogram) {
  const auto num_buckets = static_cast<double>(histogram.counts.size());
  std::vector<double> edges;
  for (size_t bucket = 1; bucket < histogram.counts.size(); ++bucket)
    edges.push_back(histogram.lowest +
                    (histogram.highest - histogram.lowest) * (static_cast<double>(bucket) / num_buckets));
  edges.push_back(histogram.highest);
  return edges;
}

// Returns a HistogramProto of TensorFlow's histogram.proto.
std::string histogram_proto(const Histogram& histogram) {
  constexpr protozero::pbf_tag_type kMin = 1, kMax = 2, kNum = 3, kSum = 4, kSumSquares = 5, kLimits = 6, kCounts = 7;
  const auto edges = right_edges(histogram);
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_double(kMin, histogram.lowest);
  writer.add_double(kMax, histogram.highest);
  writer.add_double(kNum, std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0));
  writer.add_double(kSum, histogram.sum);
  writer.add_double(kSumSquares, histogram.sum_of_squares);
  writer.add_packed_double(kLimits, edges.begin(), edges.end());
  writer.add_packed_double(kCounts, histogram.counts.begin(), histogram.counts.end());
  return message;
}

}  // namespace

std::string histogram_summary(std::string_view tag, const Histogram& histogram) {
  constexpr protozero::pbf_tag_type kValue = 1, kTag = 1, kHistogram = 5;
  std::string summary;
  protozero::pbf_writer writer(summary);
  protozero::pbf_writer value(writer, kValue);
  value.add_string(kTag, tag.data(), tag.size());
  value.add_message(kHistogram, histogram_proto(histogram));
  return summary;
}

namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

constexpr pbf_tag_type kSessionStartInfo = 3, kSessionEndInfo = 4;  // of HParamsPluginData

// Adds a google.protobuf.Value.
void add_value(pbf_writer& entry, pbf_tag_type field, const std::string& text) {
  constexpr pbf_tag_type kNumber = 2, kText = 3, kBool = 4;
  pbf_writer value(entry, field);
  const auto number = parse_double(text);
  if (text == "true" || text == "false")
    value.add_bool(kBool, text == "true");
  else if (number)
    value.add_double(kNumber, *number);
  else
    value.add_string(kText, text);
}

// Returns a tensor of one float64, 0: readers require a tensor but use only the plugin's data.
std::string empty_tensor() {
  constexpr pbf_tag_type kType = 1, kShape = 2, kDoubles = 6;
  constexpr int32_t kDouble = 2;
  std::string tensor;
  pbf_writer writer(tensor);
  writer.add_enum(kType, kDouble);
  writer.add_message(kShape, std::string());
  writer.add_double(kDoubles, 0.0);
  return tensor;
}

// Returns a Summary of TensorFlow's summary.proto with one value and the plugin's data.
std::string hparams_summary(const std::string& tag, pbf_tag_type info_field, const std::string& info) {
  constexpr pbf_tag_type kValue = 1, kTag = 1, kTensor = 8, kMetadata = 9;
  constexpr pbf_tag_type kPluginData = 1, kDataClass = 4, kPluginName = 1, kContent = 2;
  constexpr int32_t kTensorData = 2;
  std::string content, summary;
  pbf_writer(content).add_message(info_field, info);
  pbf_writer writer(summary);
  pbf_writer value(writer, kValue);
  value.add_string(kTag, tag);
  value.add_message(kTensor, empty_tensor());
  pbf_writer metadata(value, kMetadata);
  {
    pbf_writer data(metadata, kPluginData);
    data.add_string(kPluginName, "hparams");
    data.add_bytes(kContent, content);
  }
  metadata.add_enum(kDataClass, kTensorData);
  return summary;
}

}  // namespace

std::string session_start(const std::map<std::string, std::string>& settings) {
  constexpr pbf_tag_type kSettings = 1, kStartTime = 5, kKey = 1, kValue = 2;
  std::string info;
  pbf_writer writer(info);
  for (const auto& [key, text] : settings) {
    pbf_writer entry(writer, kSettings);
    entry.add_string(kKey, key);
    add_value(entry, kValue, text);
  }
  writer.add_double(kStartTime, wall_time());
  return hparams_summary("_hparams_/session_start_info", kSessionStartInfo, info);
}

std::string session_end(SessionEnd end) {
  constexpr pbf_tag_type kStatus = 1, kEndTime = 2;
  std::string info;
  pbf_writer writer(info);
  writer.add_enum(kStatus, static_cast<int32_t>(end));
  writer.add_double(kEndTime, wall_time());
  return hparams_summary("_hparams_/session_end_info", kSessionEndInfo, info);
}

namespace {

// The fields of TensorFlow's graph.proto, node_def.proto, attr_value.proto and tensor_shape.proto.
namespace field {
constexpr pbf_tag_type kNode = 1, kVersions = 4, kProducer = 1;
constexpr pbf_tag_type kName = 1, kOperation = 2, kInput = 3, kAttribute = 5;
constexpr pbf_tag_type kKey = 1, kValue = 2;
constexpr pbf_tag_type kList = 1, kBytes = 2, kShapeInList = 7, kDimension = 2, kSize = 1;
}  // namespace field
constexpr int32_t kProducerVersion = 22;

// Adds the attribute from which TensorBoard labels edges: a list of one shape.
void add_shape(pbf_writer& node, const std::vector<int64_t>& shape) {
  pbf_writer entry(node, field::kAttribute);
  entry.add_string(field::kKey, "_output_shapes");
  pbf_writer value(entry, field::kValue);
  pbf_writer list(value, field::kList);
  pbf_writer message(list, field::kShapeInList);
  for (const int64_t size : shape) pbf_writer(message, field::kDimension).add_int64(field::kSize, size);
}

void add_text(pbf_writer& node, const std::string& key, const std::string& text) {
  pbf_writer entry(node, field::kAttribute);
  entry.add_string(field::kKey, key);
  pbf_writer(entry, field::kValue).add_bytes(field::kBytes, text);
}

}  // namespace

std::string graph_def_of(const std::vector<GraphNode>& nodes) {
  std::string graph;
  pbf_writer writer(graph);
  for (const GraphNode& node : nodes) {
    pbf_writer message(writer, field::kNode);
    message.add_string(field::kName, node.name);
    message.add_string(field::kOperation, node.operation);
    for (const std::string& input : node.inputs) message.add_string(field::kInput, input);
    add_shape(message, node.shape);
    for (const auto& [key, text] : node.attributes) add_text(message, key, text);
  }
  pbf_writer(writer, field::kVersions).add_int32(field::kProducer, kProducerVersion);
  return graph;
}

}  // namespace rnnlab::tensorboard
