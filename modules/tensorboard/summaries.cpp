#include "tensorboard/summaries.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "base/numbers.h"
#include "tensorboard/event_file.h"

namespace rnnlab::tensorboard {

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
