// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/csv.h"
#include "data/readers/row_threads.h"

namespace rnnlab {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool equal_ignoring_case(std::string_view a, std::string_view lower_case) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, lower_case, {}, lower);
}

bool is_infinite(std::string_view cell) {
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  return equal_ignoring_case(cell, "inf") || equal_ignoring_case(cell, "infinity");
}

}  // namespace

bool is_missing(std::string_view cell) {
  constexpr std::array<std::string_view, 5> kTokens = {"na", "n/a", "nan", "null", "?"};
  return cell.empty() ||
         std::ranges::any_of(kTokens, [&](std::string_view token) { return equal_ignoring_case(cell, token); });
}

namespace {

// Returns nothing for a cell that has a point.
std::optional<double> number_with_comma(std::string_view cell) {
  if (cell.find('.') != std::string_view::npos) return std::nullopt;
  std::string with_point(cell);
  if (const size_t comma = with_point.find(','); comma != std::string::npos) with_point[comma] = '.';
  return parse_double(with_point);
}

}  // namespace

bool has_decimal_comma(std::string_view cell) {
  const size_t comma = cell.find(',');
  return comma != std::string_view::npos && comma + 1 < cell.size() && number_with_comma(cell).has_value();
}

std::optional<double> number_of(std::string_view cell, const CsvOptions& options) {
  return options.decimal == ',' ? number_with_comma(cell) : parse_double(cell);
}

bool is_text(std::string_view cell) {
  return !is_missing(cell) && !is_infinite(cell) && !has_decimal_comma(cell) && !parse_double(cell);
}

namespace {

[[noreturn]] void fail_at_cell(const Table& table, int64_t row, int64_t column, const std::string& message) {
  throw_error(ExitCode::kData, "{}:{}: column {}: {}", table.path(), table.line(row, column),
              in_quotes(table.column_names()[static_cast<size_t>(column)]), message);
}

[[noreturn]] void fail_missing(const Table& table, int64_t row, int64_t column, std::string_view wanted) {
  const std::string_view cell = trim(table.cell(row, column));
  fail_at_cell(table, row, column,
               cell.empty() ? fmt::format("the cell is empty, expected {}", wanted)
                            : fmt::format("the value is missing ({}), expected {}", in_quotes(cell), wanted));
}

std::string hint_on_decimal(std::string_view cell, const CsvOptions& options) {
  if (options.decimal == ',') return parse_double(cell) ? " with a decimal comma (data.decimal), not a point" : "";
  return has_decimal_comma(cell) ? " with a decimal point; if the file has commas, set data.decimal: \",\"" : "";
}

double number_at(const Table& table, int64_t row, int64_t column) {
  const std::string_view cell = trim(table.cell(row, column));
  if (const auto number = number_of(cell, table.options())) return *number;
  if (is_missing(cell)) return kMissing;
  fail_at_cell(table, row, column,
               fmt::format("got {}, expected a {}number{}", in_quotes(cell), is_infinite(cell) ? "finite " : "",
                           hint_on_decimal(cell, table.options())));
}

struct Numbers {
  std::vector<std::vector<double>> columns;  // NaN where a value is missing
  bool has_missing = false, has_text = false;
};

// What a thread meets besides numbers.
struct OtherCells {
  bool missing = false, text = false;
};

// Most cells are plain numbers without spaces around them.
double number_or_missing(const Table& table, int64_t row, int64_t column, OtherCells& others) {
  const std::string_view cell = table.cell(row, column);
  const std::string_view trimmed = !cell.empty() && cell.front() > ' ' && cell.back() > ' ' ? cell : trim(cell);
  const double number = table.options().decimal == ',' ? number_of(trimmed, table.options()).value_or(kMissing)
                                                       : parse_double_or_nan(trimmed);
  if (std::isnan(number)) (is_missing(trimmed) ? others.missing : others.text) = true;
  return number;
}

// Reads the columns together, because the cells of a row lie side by side. The threads also share the time that the
// system takes to make new memory. A part ends at its first text.
Numbers read_numbers(const Table& table, std::span<const int64_t> columns) {
  constexpr int64_t kLeastRows = 4096;
  const int64_t num_rows = table.num_rows(), num_parts = num_reading_threads(num_rows, kLeastRows);
  const auto num_columns = std::ssize(columns);
  Numbers numbers{.columns = std::vector<std::vector<double>>(columns.size())};
  in_threads(num_parts, [&](int64_t part) {
    for (int64_t i = num_columns * part / num_parts; i < num_columns * (part + 1) / num_parts; ++i)
      numbers.columns[static_cast<size_t>(i)].resize(static_cast<size_t>(num_rows));
  });
  std::vector<OtherCells> others_of(static_cast<size_t>(num_parts));
  in_threads(num_parts, [&](int64_t part) {
    OtherCells others;
    const int64_t end = num_rows * (part + 1) / num_parts;
    for (int64_t row = num_rows * part / num_parts; row < end && !others.text; ++row)
      for (size_t i = 0; i < columns.size(); ++i)
        numbers.columns[i][static_cast<size_t>(row)] = number_or_missing(table, row, columns[i], others);
    others_of[static_cast<size_t>(part)] = others;
  });
  numbers.has_missing = std::ranges::any_of(others_of, &OtherCells::missing);
  numbers.has_text = std::ranges::any_of(others_of, &OtherCells::text);
  return numbers;
}

// Throws for the first cell, column by column, that is not a number.
[[noreturn]] void fail_at_first(const Table& table, std::span<const int64_t> columns) {
  for (const int64_t column : columns)
    for (int64_t row = 0; row < table.num_rows(); ++row) number_at(table, row, column);
  fail_invariant("a cell that is not a number", __FILE__, __LINE__, "all cells are numbers");
}

// Treats the missing values, of which there is at least one.
void apply(MissingPolicy policy, const Table& table, int64_t column, std::vector<double>& values) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (policy == MissingPolicy::kZero) std::ranges::replace_if(values, is_nan, 0.0);
  if (policy != MissingPolicy::kError) return;
  fail_missing(table, std::ranges::find_if(values, is_nan) - values.begin(), column,
               "a number: fill it, or set data.missing to previous, mean, zero or drop");
}

// Returns the label in the form in which labels are compared: integers are normalised, so that "+3" and "3" are equal.
std::string normal_label(std::string_view cell, bool integers) {
  return integers ? fmt::format("{}", *parse_int64(cell)) : std::string(cell);
}

std::vector<std::string> sorted_labels(const std::unordered_set<std::string_view>& cells) {
  const bool integers = std::ranges::all_of(cells, [](std::string_view cell) { return parse_int64(cell).has_value(); });
  std::vector<std::string> labels;
  for (const std::string_view cell : cells) labels.push_back(normal_label(cell, integers));
  if (integers) {
    std::ranges::sort(labels, {}, [](const std::string& label) { return *parse_int64(label); });
  } else {
    std::ranges::sort(labels);
  }
  const auto rest = std::ranges::unique(labels);
  labels.erase(rest.begin(), rest.end());
  return labels;
}

std::string_view label_at(const Table& table, int64_t row, int64_t column) {
  const std::string_view cell = trim(table.cell(row, column));
  if (is_missing(cell)) fail_missing(table, row, column, "a class label: fill it, or set data.missing: drop");
  return cell;
}

// Returns the class of a label, or -1. An integer is found in every spelling.
int64_t find_class(const std::unordered_map<std::string, int64_t>& class_of, std::string_view cell) {
  auto found = class_of.find(std::string(cell));
  if (found == class_of.end() && parse_int64(cell)) found = class_of.find(normal_label(cell, true));
  return found == class_of.end() ? -1 : found->second;
}

std::vector<int64_t> encode(const Table& table, int64_t column, const std::vector<std::string>& labels,
                            MissingLabels missing) {
  std::unordered_map<std::string, int64_t> class_of;
  for (const std::string& label : labels) class_of.emplace(label, static_cast<int64_t>(class_of.size()));
  std::vector<int64_t> classes;
  classes.reserve(static_cast<size_t>(table.num_rows()));
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    if (missing == MissingLabels::kUnknown && is_missing(trim(table.cell(row, column)))) {
      classes.push_back(-1);
      continue;
    }
    const std::string_view cell = label_at(table, row, column);
    classes.push_back(find_class(class_of, cell));
    if (classes.back() < 0)
      fail_at_cell(
          table, row, column,
          fmt::format("got the class {}, which the training data does not have{}; correct or remove the row, or "
                      "add rows of this class to the training file",
                      in_quotes(cell), did_you_mean(cell, labels)));
  }
  return classes;
}

}  // namespace

std::vector<NumericColumn> numeric_columns(const Table& table, std::span<const std::string> names,
                                           MissingPolicy policy) {
  std::vector<int64_t> columns;
  for (const std::string& name : names) columns.push_back(table.column_index(name));
  Numbers numbers = read_numbers(table, columns);
  if (numbers.has_text) fail_at_first(table, columns);
  std::vector<NumericColumn> result;
  for (size_t i = 0; i < names.size(); ++i) {
    NumericColumn& column = result.emplace_back(NumericColumn{names[i], std::move(numbers.columns[i])});
    if (!numbers.has_missing) continue;
    column.num_missing = std::ranges::count_if(column.values, [](double value) { return std::isnan(value); });
    if (column.num_missing > 0) apply(policy, table, columns[i], column.values);
  }
  return result;
}

NumericColumn numeric_column(const Table& table, std::string_view name, MissingPolicy policy) {
  const std::string names[] = {std::string(name)};
  return std::move(numeric_columns(table, names, policy).front());
}

std::vector<int64_t> complete_rows(std::span<const NumericColumn> columns) {
  std::vector<int64_t> rows;
  const size_t num_rows = columns.empty() ? 0 : columns[0].values.size();
  for (size_t row = 0; row < num_rows; ++row)
    if (std::ranges::none_of(columns, [row](const NumericColumn& column) { return std::isnan(column.values[row]); }))
      rows.push_back(static_cast<int64_t>(row));
  return rows;
}

ClassColumn class_column(const Table& table, std::string_view name, MissingLabels missing) {
  const int64_t column = table.column_index(name);
  std::unordered_set<std::string_view> cells;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const bool is_left_out = missing == MissingLabels::kUnknown && is_missing(trim(table.cell(row, column)));
    if (!is_left_out) cells.insert(label_at(table, row, column));
  }
  if (cells.empty()) fail_missing(table, 0, column, "a class label: no row has one");
  std::vector<std::string> labels = sorted_labels(cells);
  std::vector<int64_t> classes = encode(table, column, labels, missing);
  return {std::move(classes), std::move(labels)};
}

std::vector<int64_t> class_column_as(const Table& table, std::string_view name, const std::vector<std::string>& labels,
                                     MissingLabels missing) {
  return encode(table, table.column_index(name), labels, missing);
}

}  // namespace rnnlab
