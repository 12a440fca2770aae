// Event files and their messages, read back for tests by field numbers alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <protozero/pbf_message.hpp>
#include <string>
#include <vector>

namespace rnnlab::testing {

// A message's fields by number, in order; scalars as their number, the rest as bytes.
struct Message {
  explicit Message(const std::string& bytes);

  const std::string& bytes(int field) const { return all_bytes.at(field).at(0); }
  Message message(int field) const { return Message(bytes(field)); }
  double number(int field) const { return numbers.at(field).at(0); }
  bool has(int field) const { return all_bytes.contains(field) || numbers.contains(field); }

  std::map<int, std::vector<std::string>> all_bytes;
  std::map<int, std::vector<double>> numbers;
};

// The data of each record, with its length and both checksums looked at: a fault is a std::runtime_error.
std::vector<std::string> records_of(const std::string& bytes);

// The numbers of a packed field of float64.
std::vector<double> doubles_of(const Message& message, int field);

// In the order of their names.
std::vector<std::filesystem::path> event_files_in(const std::filesystem::path& folder);

}  // namespace rnnlab::testing
