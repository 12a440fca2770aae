// SPDX-License-Identifier: Apache-2.0
// When cells of a table are the same value in different spellings: the whole numbers 6, 6.0 and +6, or True and TRUE.
// Other texts are equal only if all of their characters are: so are numbers with leading zeros, because 06 is usually a
// code, and numbers that are not whole, because 1.1 and 1.10 may be two versions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/readers/csv.h"

namespace rnnlab {

// Returns the value of a cell in its simplest spelling: "6" for 6.0, +6, 6. and 6e0, "true" for True; else the cell.
// No digit is lost, however long the number is. Spaces around the cell are ignored.
std::string simplest_spelling(std::string_view cell, const CsvOptions& options);

// Returns 1 for true and 0 for false, in upper or lower case.
std::optional<double> boolean_of(std::string_view cell);

// Returns the distinct values of cells, as they are spelled if each value has one spelling, else each value that has
// several in its simplest spelling.
std::vector<std::string> distinct_values(std::span<const std::string_view> cells, const CsvOptions& options);

// Returns a note that names the spellings of a value of the column that has several; "" if no value has several.
std::string note_on_spellings(std::span<const std::string_view> cells, std::string_view column,
                              const CsvOptions& options);

// Returns the different cells that these rows of a column have, in any order, without missing ones.
std::vector<std::string_view> distinct_cells(const CsvTable& table, int64_t column, std::span<const int64_t> rows);

// Finds values by their spellings: first by the characters, then by the simplest spelling, then by the number without
// its leading zeros. A spelling that fits several values is not found. The index remembers the cells that it was asked
// for, so they must outlive it.
class ValueIndex {
 public:
  ValueIndex(std::span<const std::string> values, const CsvOptions& options);

  // Returns the place of the value among the values, or -1.
  int64_t find(std::string_view cell) const;

 private:
  int64_t search(std::string_view cell) const;

  CsvOptions options_;
  std::unordered_map<std::string, int64_t> by_text_, by_value_, by_number_;
  mutable std::unordered_map<std::string_view, int64_t> known_;
};

}  // namespace rnnlab
