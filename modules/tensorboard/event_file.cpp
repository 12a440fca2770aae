#include "tensorboard/event_file.h"

#include <fmt/format.h>
#include <nmmintrin.h>
#include <unistd.h>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string_view>

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

}  // namespace rnnlab::tensorboard
