// SPDX-License-Identifier: Apache-2.0
// Reads event files and their messages for tests, only by field numbers.
#pragma once

#include <filesystem>
#include <map>
#include <protozero/pbf_message.hpp>
#include <string>
#include <vector>

namespace rnnlab::testing {

// Holds the fields of a message by number, in order; scalars as numbers, other fields as bytes.
struct Message {
  explicit Message(const std::string& bytes);

  const std::string& bytes(int field) const { return all_bytes.at(field).at(0); }
  Message message(int field) const { return Message(bytes(field)); }
  double number(int field) const { return numbers.at(field).at(0); }
  bool has(int field) const { return all_bytes.contains(field) || numbers.contains(field); }

  std::map<int, std::vector<std::string>> all_bytes;
  std::map<int, std::vector<double>> numbers;
};

// Returns the data of each record, and checks its length and both checksums. Throws std::runtime_error for a damaged
// record.
std::vector<std::string> records_of(const std::string& bytes);

// Returns the numbers of a packed float64 field.
std::vector<double> doubles_of(const Message& message, int field);

// Returns the event files in the order of their names.
std::vector<std::filesystem::path> event_files_in(const std::filesystem::path& folder);

}  // namespace rnnlab::testing
