// SPDX-License-Identifier: Apache-2.0
#include "results/tensorboard/event_reader.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "results/tensorboard/event_file.h"

namespace rnnlab::testing {
namespace {

template <class T>
T taken(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) throw std::runtime_error("a record is cut short");
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

void require_checksum(std::string_view data, uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8U;
  if (((rotated >> 17) | (rotated << 15)) != tensorboard::crc32c(data)) throw std::runtime_error("a checksum differs");
}

}  // namespace

Message::Message(const std::string& bytes) {
  protozero::pbf_reader reader(bytes);
  while (reader.next()) {
    const int field = static_cast<int>(reader.tag());
    switch (reader.wire_type()) {
      case protozero::pbf_wire_type::varint:
        numbers[field].push_back(static_cast<double>(reader.get_int64()));
        break;
      case protozero::pbf_wire_type::fixed64:
        numbers[field].push_back(reader.get_double());
        break;
      case protozero::pbf_wire_type::fixed32:
        numbers[field].push_back(static_cast<double>(reader.get_float()));
        break;
      default:
        all_bytes[field].push_back(reader.get_bytes());
    }
  }
}

std::vector<std::string> records_of(const std::string& bytes) {
  std::vector<std::string> records;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::string_view length_bytes = rest.substr(0, sizeof(uint64_t));
    const auto length = taken<uint64_t>(rest);
    require_checksum(length_bytes, taken<uint32_t>(rest));
    const std::string data(rest.substr(0, length));
    if (data.size() < length) throw std::runtime_error("a record is cut short");
    rest.remove_prefix(length);
    require_checksum(data, taken<uint32_t>(rest));
    records.push_back(data);
  }
  return records;
}

std::vector<double> doubles_of(const Message& message, int field) {
  const std::string& packed = message.bytes(field);
  std::vector<double> values(packed.size() / sizeof(double));
  std::memcpy(values.data(), packed.data(), packed.size());
  return values;
}

std::vector<std::filesystem::path> event_files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace rnnlab::testing
