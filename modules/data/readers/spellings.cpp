// SPDX-License-Identifier: Apache-2.0
#include "data/readers/spellings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

// The digits of a decimal number without a sign: 0.DIGITS x 10^point.
struct Decimal {
  bool is_negative = false;
  std::string digits;
  int64_t point = 0;
  bool has_leading_zeros = false;
};

bool is_of_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int64_t> exponent_of(std::string_view text) {
  constexpr size_t kMostDigits = 3;
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.size() > kMostDigits || !is_of_digits(digits)) return std::nullopt;
  int64_t value = 0;
  for (const char c : digits) value = 10 * value + (c - '0');
  return text.starts_with('-') ? -value : value;
}

std::optional<Decimal> decimal_of(std::string_view cell, char mark) {
  Decimal number;
  if (!cell.empty() && (cell.front() == '+' || cell.front() == '-')) {
    number.is_negative = cell.front() == '-';
    cell.remove_prefix(1);
  }
  int64_t exponent = 0;
  if (const size_t place = cell.find_first_of("eE"); place != std::string_view::npos) {
    const auto read = exponent_of(cell.substr(place + 1));
    if (!read) return std::nullopt;
    exponent = *read;
    cell = cell.substr(0, place);
  }
  const size_t place = cell.find(mark);
  const std::string_view whole = cell.substr(0, place);
  const std::string_view rest = place == std::string_view::npos ? "" : cell.substr(place + 1);
  if (whole.empty() && rest.empty()) return std::nullopt;
  if (!is_of_digits(whole) || !is_of_digits(rest)) return std::nullopt;
  number.has_leading_zeros = whole.size() > 1 && whole.front() == '0';
  number.digits = std::string(whole) + std::string(rest);
  number.point = std::ssize(whole) + exponent;
  const size_t first = number.digits.find_first_not_of('0');
  if (first == std::string::npos) return Decimal{.digits = "", .has_leading_zeros = number.has_leading_zeros};
  number.digits.erase(0, first);
  number.point -= static_cast<int64_t>(first);
  number.digits.erase(number.digits.find_last_not_of('0') + 1);
  return number;
}

bool is_whole(const Decimal& number) { return number.digits.empty() || number.point >= std::ssize(number.digits); }

// Returns the digits of a whole number, without leading zeros.
std::string text_of(const Decimal& number) {
  if (number.digits.empty()) return "0";
  const auto num_zeros = static_cast<size_t>(number.point - std::ssize(number.digits));
  return (number.is_negative ? "-" : "") + number.digits + std::string(num_zeros, '0');
}

// Returns the number without leading zeros, or "" if the cell is not a whole number.
std::string number_text(std::string_view cell, const CsvOptions& options) {
  const auto number = decimal_of(cell, options.decimal);
  return number && is_whole(*number) ? text_of(*number) : "";
}

// Returns the spellings of each value, by its simplest spelling.
std::map<std::string, std::set<std::string_view>> spellings_of_values(std::span<const std::string_view> cells,
                                                                      const CsvOptions& options) {
  std::map<std::string, std::set<std::string_view>> spellings;
  for (const std::string_view cell : std::set<std::string_view>(cells.begin(), cells.end()))
    spellings[simplest_spelling(cell, options)].insert(cell);
  return spellings;
}

}  // namespace

std::optional<double> boolean_of(std::string_view cell) {
  constexpr size_t kLongest = 5;
  if (cell.size() > kLongest) return std::nullopt;
  const std::string word = lower_case(cell);
  if (word == "true") return 1;
  return word == "false" ? std::optional(0.0) : std::nullopt;
}

std::string simplest_spelling(std::string_view cell, const CsvOptions& options) {
  cell = trim(cell);
  if (boolean_of(cell)) return lower_case(cell);
  const auto number = decimal_of(cell, options.decimal);
  return number && is_whole(*number) && !number->has_leading_zeros ? text_of(*number) : std::string(cell);
}

std::vector<std::string> distinct_values(std::span<const std::string_view> cells, const CsvOptions& options) {
  std::vector<std::string> values;
  for (const auto& [simplest, spelled] : spellings_of_values(cells, options))
    values.emplace_back(spelled.size() == 1 ? *spelled.begin() : std::string_view(simplest));
  std::ranges::sort(values);
  return values;
}

std::string note_on_spellings(std::span<const std::string_view> cells, std::string_view column,
                              const CsvOptions& options) {
  int64_t num_merged = 0;
  std::vector<std::string> first;
  for (const auto& [simplest, spelled] : spellings_of_values(cells, options)) {
    if (spelled.size() == 1 || ++num_merged > 1) continue;
    for (const std::string_view spelling : spelled) first.push_back(in_quotes(spelling));
  }
  if (num_merged == 0) return "";
  return fmt::format("{} of {} are spellings of one value{}", join_with_and(first), in_quotes(column),
                     num_merged == 1 ? "" : ", and so are those of " + counted(num_merged - 1, "more value"));
}

std::vector<std::string_view> distinct_cells(const CsvTable& table, int64_t column, std::span<const int64_t> rows) {
  std::unordered_set<std::string_view> cells;
  for (const int64_t row : rows) cells.insert(table.value(row, column));
  std::erase_if(cells, [&](std::string_view cell) { return is_missing(cell, table.options()); });
  return {cells.begin(), cells.end()};
}

ValueIndex::ValueIndex(std::span<const std::string> values, const CsvOptions& options) : options_(options) {
  constexpr int64_t kSeveral = -1;
  const auto add = [&](auto& places, const std::string& key, int64_t place) {
    if (key.empty()) return;
    const auto [found, is_new] = places.emplace(key, place);
    if (!is_new) found->second = kSeveral;
  };
  for (int64_t place = 0; place < std::ssize(values); ++place) {
    const std::string& value = values[static_cast<size_t>(place)];
    add(by_text_, value, place);
    add(by_value_, simplest_spelling(value, options), place);
    add(by_number_, number_text(value, options), place);
  }
}

int64_t ValueIndex::find(std::string_view cell) const {
  const auto [known, is_new] = known_.try_emplace(cell, -1);
  if (is_new) known->second = search(cell);
  return known->second;
}

int64_t ValueIndex::search(std::string_view cell) const {
  if (const auto found = by_text_.find(std::string(cell)); found != by_text_.end()) return found->second;
  if (const auto found = by_value_.find(simplest_spelling(cell, options_)); found != by_value_.end())
    return found->second;
  const auto found = by_number_.find(number_text(cell, options_));
  return found == by_number_.end() ? -1 : found->second;
}

}  // namespace rnnlab
