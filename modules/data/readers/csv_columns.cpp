// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/csv.h"
#include "data/readers/row_threads.h"
#include "data/readers/rows.h"
#include "data/readers/spellings.h"

namespace rnnlab {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_infinite(std::string_view cell) {
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  return equal_ignoring_case(cell, "inf") || equal_ignoring_case(cell, "infinity");
}

}  // namespace

std::span<const std::string_view> usual_missing_words() {
  static constexpr std::array<std::string_view, 15> kWords = {
      "NA", "N/A", "NaN", "null", "?", "None", "#N/A", "#NA", "NaT", "<NA>", "n.a.", "nil", "-nan", "-", "--"};
  return kWords;
}

bool is_missing(std::string_view cell, const CsvOptions& options) {
  if (cell.empty()) return true;
  if (options.missing_words) return std::ranges::count(*options.missing_words, cell) > 0;
  return std::ranges::any_of(usual_missing_words(),
                             [&](std::string_view word) { return equal_ignoring_case(cell, word); });
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

bool is_text(std::string_view cell, const CsvOptions& options) {
  return !is_missing(cell, options) && !is_infinite(cell) && !has_decimal_comma(cell) && !parse_double(cell) &&
         !boolean_of(cell);
}

namespace {

[[noreturn]] void fail_missing(const CsvTable& table, int64_t row, int64_t column, std::string_view wanted) {
  const std::string_view cell = table.value(row, column);
  table.fail_at(row, column,
                cell.empty() ? fmt::format("the cell is empty, expected {}", wanted)
                             : fmt::format("the value is missing ({}), expected {}", in_quotes(cell), wanted));
}

std::string hint_on_decimal(std::string_view cell, const CsvOptions& options) {
  if (options.decimal == ',') return parse_double(cell) ? " with a decimal comma (data.decimal), not a point" : "";
  return has_decimal_comma(cell) ? " with a decimal point; if the file has commas, set data.decimal: \",\"" : "";
}

// Some programs write an error of a formula, or a word of their own, for a value that is missing.
std::string hint_on_words(std::string_view cell) {
  constexpr size_t kLongest = 12;
  if (cell.starts_with('#')) return " (an error of a spreadsheet); correct it, or list it in data.missing_words";
  const bool begins_like_a_number = cell.find_first_of("0123456789") <= 1;  // a mistake in a number, such as 1e999
  if (begins_like_a_number || cell.size() > kLongest) return "";
  return "; if it stands for a missing value, list it in data.missing_words";
}

// Words of the user's own may be numbers, such as -999.
bool is_own_missing_word(std::string_view cell, const CsvOptions& options) {
  return options.missing_words && is_missing(cell, options);
}

// What cells are besides numbers.
struct OtherCells {
  bool missing = false, text = false, boolean = false;
};

struct Numbers {
  std::vector<std::vector<double>> columns;  // NaN where a value is missing
  OtherCells others;
};

// Returns the number of true or false, or NaN.
double other_number(std::string_view cell, const CsvOptions& options, OtherCells& others) {
  if (is_missing(cell, options)) {
    others.missing = true;
    return kMissing;
  }
  const auto boolean = boolean_of(cell);
  (boolean ? others.boolean : others.text) = true;
  return boolean.value_or(kMissing);
}

// Most cells are plain numbers without spaces around them.
double number_or_missing(const CsvTable& table, int64_t row, int64_t column, OtherCells& others) {
  const std::string_view cell = table.cell(row, column);
  const std::string_view trimmed = !cell.empty() && cell.front() > ' ' && cell.back() > ' ' ? cell : trim(cell);
  if (is_own_missing_word(trimmed, table.options())) {
    others.missing = true;
    return kMissing;
  }
  const double number = table.options().decimal == ',' ? number_of(trimmed, table.options()).value_or(kMissing)
                                                       : parse_double_or_nan(trimmed);
  return std::isnan(number) ? other_number(trimmed, table.options(), others) : number;
}

// Reads the columns together, because the cells of a row lie side by side. The threads also share the time that the
// system takes to make new memory. A part ends at its first text.
Numbers read_numbers(const CsvTable& table, std::span<const int64_t> columns) {
  constexpr int64_t kLeastRows = 4096;
  const int64_t num_rows = table.num_rows(), num_parts = num_reading_threads(num_rows, kLeastRows);
  const auto num_columns = std::ssize(columns);
  Numbers numbers{.columns = std::vector<std::vector<double>>(columns.size()), .others = {}};
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
  for (const auto kind : {&OtherCells::missing, &OtherCells::text, &OtherCells::boolean})
    numbers.others.*kind = std::ranges::any_of(others_of, kind);
  return numbers;
}

[[noreturn]] void fail_without_number(const CsvTable& table, int64_t row, int64_t column) {
  const std::string_view cell = table.value(row, column);
  const std::string hint = hint_on_decimal(cell, table.options());
  const bool is_word = hint.empty() && !is_infinite(cell) && !parse_double(cell);
  table.fail_at(row, column,
                fmt::format("got {}, expected a {}number{}{}", in_quotes(cell), is_infinite(cell) ? "finite " : "",
                            hint, is_word ? hint_on_words(cell) : ""));
}

// Throws for the first cell, column by column, that is not a number.
[[noreturn]] void fail_at_first(const CsvTable& table, std::span<const int64_t> columns) {
  OtherCells others;
  for (const int64_t column : columns)
    for (int64_t row = 0; row < table.num_rows(); ++row) {
      number_or_missing(table, row, column, others);
      if (others.text) fail_without_number(table, row, column);
    }
  fail_invariant("a cell that is not a number", __FILE__, __LINE__, "all cells are numbers");
}

// Returns whether the cells of the column are true and false. Throws if it has numbers too.
bool is_boolean_column(const CsvTable& table, int64_t column) {
  std::optional<int64_t> boolean, number;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const std::string_view cell = table.value(row, column);
    if (is_missing(cell, table.options())) continue;
    std::optional<int64_t>& first = boolean_of(cell) ? boolean : number;
    if (!first) first = row;
  }
  if (boolean && number)
    table.fail_at(*boolean, column,
                  fmt::format("got {}, but line {} has {}: a column holds either numbers or true and false",
                              in_quotes(table.value(*boolean, column)), table.line(*number, column),
                              in_quotes(table.value(*number, column))));
  return boolean.has_value();
}

// Labels of integers are sorted as numbers, others by their bytes.
std::vector<std::string> sorted_labels(const std::vector<std::string_view>& cells, const CsvOptions& options) {
  std::vector<std::string> labels = distinct_values(cells, options);
  const auto is_integer = [](const std::string& label) { return parse_int64(label).has_value(); };
  if (!std::ranges::all_of(labels, is_integer)) return labels;
  for (std::string& label : labels) label = simplest_spelling(label, options);
  std::ranges::sort(labels, {}, [](const std::string& label) { return *parse_int64(label); });
  return labels;
}

// A usual word for a missing value may be the name of a class, such as NA for Namibia.
std::string hint_on_class(std::string_view cell, const CsvOptions& options) {
  if (cell.empty() || options.missing_words) return "";
  return fmt::format(
      "; if {} is the name of a class, set data.missing_words to the words that mean a missing value ([] for none)",
      in_quotes(cell));
}

[[noreturn]] void fail_without_label(const CsvTable& table, int64_t row, int64_t column) {
  fail_missing(
      table, row, column,
      "a class label: fill it, or set data.missing: drop" + hint_on_class(table.value(row, column), table.options()));
}

std::vector<int64_t> encode(const CsvTable& table, int64_t column, const std::vector<std::string>& labels,
                            MissingTargets missing) {
  const ValueIndex index(labels, table.options());
  std::vector<int64_t> classes;
  classes.reserve(static_cast<size_t>(table.num_rows()));
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const std::string_view cell = table.value(row, column);
    classes.push_back(index.find(cell));
    if (classes.back() >= 0) continue;
    const bool is_absent = table.is_missing(row, column);
    if (is_absent && missing == MissingTargets::kRefused) fail_without_label(table, row, column);
    if (!is_absent)
      table.fail_at(row, column,
                    fmt::format("got the class {}, which the training data does not have{}; correct or remove the row, "
                                "or add rows of this class to the training file",
                                in_quotes(cell), did_you_mean(cell, labels)));
  }
  return classes;
}

}  // namespace

void fail_missing_number(const CsvTable& table, int64_t row, int64_t column, std::string_view hint) {
  fail_missing(table, row, column,
               fmt::format("a number: fill it, or set data.missing to previous, mean, zero or drop{}", hint));
}

std::vector<NumericColumn> numeric_columns(const CsvTable& table, std::span<const std::string> names,
                                           MissingPolicy policy) {
  std::vector<int64_t> columns;
  for (const std::string& name : names) columns.push_back(table.column_index(name));
  const auto is_nan = [](double value) { return std::isnan(value); };
  Numbers numbers = read_numbers(table, columns);
  if (numbers.others.text) fail_at_first(table, columns);
  std::vector<NumericColumn> result;
  for (size_t i = 0; i < names.size(); ++i) {
    NumericColumn& column = result.emplace_back(NumericColumn{names[i], std::move(numbers.columns[i])});
    if (numbers.others.boolean) column.is_boolean = is_boolean_column(table, columns[i]);
    if (!numbers.others.missing) continue;
    column.num_missing = std::ranges::count_if(column.values, is_nan);
    if (column.num_missing == 0 || policy != MissingPolicy::kError) continue;
    fail_missing_number(table, std::ranges::find_if(column.values, is_nan) - column.values.begin(), columns[i]);
  }
  return result;
}

NumericColumn numeric_column(const CsvTable& table, std::string_view name, MissingPolicy policy) {
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

ClassColumn class_column(const CsvTable& table, std::string_view name, MissingTargets missing) {
  const int64_t column = table.column_index(name);
  for (int64_t row = 0; missing == MissingTargets::kRefused && row < table.num_rows(); ++row)
    if (table.is_missing(row, column)) fail_without_label(table, row, column);
  const std::vector<std::string_view> cells = distinct_cells(table, column, first_rows(table.num_rows()));
  if (cells.empty()) fail_missing(table, 0, column, "a class label: no row has one");
  std::vector<std::string> labels = sorted_labels(cells, table.options());
  std::vector<int64_t> classes = encode(table, column, labels, missing);
  return {std::move(classes), std::move(labels), note_on_spellings(cells, name, table.options())};
}

std::vector<int64_t> class_column_as(const CsvTable& table, std::string_view name,
                                     const std::vector<std::string>& labels, MissingTargets missing) {
  return encode(table, table.column_index(name), labels, missing);
}

}  // namespace rnnlab
