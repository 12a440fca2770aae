// SPDX-License-Identifier: Apache-2.0
#include "data/readers/row_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/rows.h"

namespace rnnlab {
namespace {

// Returns the integers of the column; nullopt if a cell has another value.
std::optional<std::vector<int64_t>> integers_of(const CsvTable& table, int64_t column) {
  constexpr double kMost = 9e15;
  std::vector<int64_t> integers;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const auto number = number_of(table.value(row, column), table.options());
    if (!number || *number != std::trunc(*number) || std::abs(*number) > kMost) return std::nullopt;
    integers.push_back(static_cast<int64_t>(*number));
  }
  return integers;
}

bool are_consecutive(const std::vector<int64_t>& integers) {
  const auto [least, most] = std::ranges::minmax(integers);
  return most - least == std::ssize(integers) - 1 && !has_repeated(integers);
}

// Returns whether the integers are 0, 1, 2 ... or 1, 2, 3 ..., upwards or downwards.
bool count_rows(const std::vector<int64_t>& integers) {
  const auto [least, most] = std::ranges::minmax(integers);
  if (least > 1 || least < 0 || most - least != std::ssize(integers) - 1) return false;
  const int64_t step = integers.front() == least ? 1 : -1;
  for (size_t i = 1; i < integers.size(); ++i)
    if (integers[i] != integers[i - 1] + step) return false;
  return true;
}

// Returns the name without a number at its end: "unnamed: 0" becomes "unnamed: ".
std::string without_last_number(std::string name) {
  name.erase(name.find_last_not_of("0123456789") + 1);
  return name;
}

bool is_name_of_data_frame(const std::string& name) {
  return without_last_number(name) == "unnamed: " || without_last_number(name) == "level_" ||
         (name.starts_with("__index_level_") && name.ends_with("__"));
}

bool is_name_of_index(const std::string& name) {
  constexpr std::array<std::string_view, 6> kNames = {"index", "id", "idx", "row_id", "rowid", "ix"};
  return std::ranges::count(kNames, name) > 0;
}

bool is_name_of_number(const std::string& name) {
  constexpr std::array<std::string_view, 12> kNames = {"row",    "rows", "row_number", "rownumber", "rownum", "no",
                                                       "number", "nr",   "#",          "record",    "obs",    "rec"};
  return std::ranges::count(kNames, name) > 0;
}

bool is_empty(const CsvTable& table, int64_t column) {
  for (int64_t row = 0; row < table.num_rows(); ++row)
    if (!table.value(row, column).empty()) return false;
  return true;
}

}  // namespace

bool is_unnamed(const CsvTable& table, int64_t column) {
  return table.options().header == CsvHeader::kPresent &&
         table.column_name(column) == fmt::format("column{}", column + 1);
}

bool is_after_last_delimiter(const CsvTable& table, int64_t column) {
  return is_unnamed(table, column) && is_empty(table, column);
}

bool numbers_rows(const CsvTable& table, int64_t column) {
  constexpr size_t kFewRows = 3, kManyRows = 20;
  const auto integers = integers_of(table, column);
  if (!integers || integers->size() < kFewRows) return false;
  const std::string name = lower_case(table.column_name(column));
  if (is_unnamed(table, column) || is_name_of_data_frame(name)) return !has_repeated(*integers);
  if (is_name_of_index(name))
    return integers->size() < kManyRows ? are_consecutive(*integers) : !has_repeated(*integers);
  if (is_name_of_number(name)) return are_consecutive(*integers);
  return integers->size() >= kManyRows && count_rows(*integers);
}

}  // namespace rnnlab
