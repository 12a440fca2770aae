// SPDX-License-Identifier: Apache-2.0
// Describes the table of a CSV file for `data inspect`.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <ranges>
#include <string_view>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/inspect_plan.h"
#include "data/readers/csv.h"
#include "data/readers/row_numbers.h"
#include "data/readers/spellings.h"

namespace rnnlab {
namespace {

void add_up_to_most(std::set<std::string>& set, std::string_view cell) {
  if (set.size() <= kMostClasses) set.emplace(cell);
}

bool is_of_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Numbers with a mark between thousands do not begin with 0, as 0.125 does.
bool is_below_thousand(std::string_view digits) {
  constexpr size_t kMostDigits = 3;
  return !digits.empty() && digits.size() <= kMostDigits && is_of_digits(digits) &&
         (digits == "0" || digits.front() != '0');
}

void count_like_thousands(ColumnInspection& column, std::string_view cell, char mark) {
  constexpr size_t kDigitsOfGroup = 3;
  const std::string_view digits = cell.starts_with('-') ? cell.substr(1) : cell;
  const size_t place = digits.find(mark);
  const std::string_view before = digits.substr(0, place);
  if (!is_below_thousand(before)) return;
  if (place == std::string_view::npos) {
    ++column.num_below_thousand;
    return;
  }
  const std::string_view after = digits.substr(place + 1);
  if (before == "0" || after.size() != kDigitsOfGroup || !is_of_digits(after)) return;
  if (column.num_like_thousands++ == 0) column.like_thousands = cell;
}

// Returns whether the number is one of those that files have in the place of a missing value: nines, at least two.
bool may_be_placeholder(double number) {
  constexpr std::array<double, 5> kNines = {99, 999, 9999, 99'999, 999'999};
  return std::ranges::count(kNines, std::abs(number)) > 0;
}

void count_number(ColumnInspection& column, std::string_view cell, double number) {
  column.numbers.add(number);
  ++column.num_numbers;
  if (may_be_placeholder(number))
    ++column.placeholders[std::string(cell)];
  else
    column.likely_values.add(number);
}

void count(ColumnInspection& column, std::string_view cell, const CsvOptions& options) {
  if (is_missing(cell, options)) {
    ++column.num_missing;
    if (!cell.empty() && column.missing_words.size() <= kMostClasses) ++column.missing_words[std::string(cell)];
    return;
  }
  add_up_to_most(column.values, cell);
  if (const auto number = number_of(cell, options)) {
    count_number(column, cell, *number);
    column.num_integers += parse_int64(cell) ? 1 : 0;
    count_like_thousands(column, cell, options.decimal);
    return;
  }
  ++column.num_texts;
  column.num_booleans += boolean_of(cell) ? 1 : 0;
  column.num_decimal_commas += options.decimal == '.' && has_decimal_comma(cell) ? 1 : 0;
  add_up_to_most(column.texts, cell);
}

// Returns the value without differences of upper and lower case, of spaces and of leading zeros.
std::string without_spelling(const std::string& value, const CsvOptions& options) {
  std::string simple = lower_case(simplest_spelling(value, options));
  std::erase(simple, ' ');
  const bool is_number = !simple.empty() && is_of_digits(simple);
  return is_number ? simple.substr(std::min(simple.find_first_not_of('0'), simple.size() - 1)) : simple;
}

// Returns the first group of values that look like one value in several spellings. Numbers have many spellings.
std::vector<std::string> values_alike(const ColumnInspection& column, const CsvOptions& options) {
  const bool may_be_names = column.is_label() || column.num_texts > 0;
  if (column.values.size() > kMostClasses || !may_be_names) return {};
  std::map<std::string, std::vector<std::string>> groups;
  for (const std::string& value : column.values) groups[without_spelling(value, options)].push_back(value);
  const auto found = std::ranges::find_if(groups, [](const auto& group) { return group.second.size() > 1; });
  return found == groups.end() ? std::vector<std::string>() : found->second;
}

ColumnInspection inspect_column(const CsvTable& table, int64_t column) {
  ColumnInspection result;
  result.name = table.column_name(column);
  result.place = column;
  for (int64_t row = 0; row < table.num_rows(); ++row) count(result, table.value(row, column), table.options());
  result.alike = values_alike(result, table.options());
  result.numbers_rows = numbers_rows(table, column);
  result.is_nameless_and_empty = is_after_last_delimiter(table, column);
  result.times = times_of_column(table, column);
  return result;
}

}  // namespace

bool ColumnInspection::is_label() const {
  constexpr size_t kMostIntegers = 20;
  const size_t num_words = num_texts > 0 ? missing_words.size() : 0;  // such as a class called NA
  const size_t distinct = values.size() + num_words;
  const auto present = static_cast<size_t>(num_numbers + num_texts);
  if (distinct < 2 || distinct > kMostClasses || num_decimal_commas > 0) return false;
  if (num_texts > 0) return distinct < present;
  return num_integers == num_numbers && distinct <= kMostIntegers && 2 * distinct <= present;
}

namespace {

// The functions below read a csv file and guess its delimiter and header.

using Path = std::filesystem::path;

constexpr int64_t kFirstRows = 3;

// Returns whether every comma of the line is a decimal comma if the candidate is the delimiter.
bool explains_commas(std::string_view line, char candidate) {
  for (const auto part : std::views::split(line, candidate)) {
    const std::string_view cell = trim(std::string_view(part.begin(), part.end()));
    if (cell.find(',') != std::string_view::npos && !has_decimal_comma(cell)) return false;
  }
  return line.find(candidate) != std::string_view::npos;
}

// Returns the usual delimiter that makes numbers of what the commas of the first line are in, else the most frequent
// one, or a comma.
char guess_delimiter(std::string_view head) {
  constexpr char kOthers[] = {';', '\t', '|'};
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  for (const char candidate : kOthers)
    if (line.find(',') != std::string_view::npos && explains_commas(line, candidate)) return candidate;
  char best = ',';
  for (const char candidate : kOthers)
    if (std::ranges::count(line, candidate) > std::ranges::count(line, best)) best = candidate;
  return best;
}

bool is_number(std::string_view cell) { return parse_double(trim(cell)).has_value() || has_decimal_comma(trim(cell)); }

// A row with a number is not a header, because names of columns are not numbers.
CsvHeader guess_header(const CsvTable& headless) {
  for (int64_t column = 0; column < headless.num_columns(); ++column) {
    if (is_number(headless.cell(0, column))) return CsvHeader::kAbsent;
  }
  return headless.num_rows() > 1 ? CsvHeader::kPresent : CsvHeader::kAbsent;
}

// Returns a comma if a number has one and no number has a point.
char guess_decimal(const CsvTable& table) {
  bool has_comma = false;
  for (int64_t row = 0; row < table.num_rows(); ++row)
    for (int64_t column = 0; column < table.num_columns(); ++column) {
      const std::string_view cell = table.value(row, column);
      if (cell.find('.') != std::string_view::npos && parse_double(cell)) return '.';
      has_comma = has_comma || has_decimal_comma(cell);
    }
  return has_comma ? ',' : '.';
}

std::vector<std::vector<std::string>> first_rows_of(const CsvTable& table) {
  std::vector<std::vector<std::string>> rows;
  for (int64_t row = 0; row < std::min(kFirstRows, table.num_rows()); ++row) {
    rows.emplace_back();
    for (int64_t column = 0; column < table.num_columns(); ++column)
      rows.back().push_back(in_quotes(table.cell(row, column)));
  }
  return rows;
}

Json json_of(const ColumnInspection& column) {
  Json json = {{"name", column.name},
               {"numbers", column.num_numbers},
               {"missing", column.num_missing},
               {"other", column.num_texts}};
  for (const auto& [word, count] : column.missing_words)
    json["missing_words"].push_back({{"word", in_quotes(word)}, {"cells", count}});
  if (column.numbers_rows) json["numbers_rows"] = true;
  if (column.has_times()) json["times"] = true;
  column.numbers.add_to(json);
  if (column.texts.size() > kMostClasses) return json;
  for (const std::string& text : column.texts) json["texts"].push_back(in_quotes(text));
  return json;
}

std::string_view order_name(const TimeSteps& steps) {
  if (steps.num_backwards == 0) return "oldest first";
  return steps.is_newest_first ? "newest first" : "unsorted";
}

Json json_of(const TimeInspection& time) {
  Json json = {{"column", time.column},
               {"first", in_quotes(time.first)},
               {"last", in_quotes(time.last)},
               {"order", order_name(time.steps)},
               {"usual_step", duration_text(time.steps.usual_step)},
               {"backwards", time.steps.num_backwards},
               {"repeated", time.steps.num_repeated},
               {"gaps", time.steps.num_gaps},
               {"short_steps", time.steps.num_short}};
  if (!time.group.empty()) json["group"] = time.group;
  return json;
}

FileInspection inspect_table(const Path& path, const CsvTable& table) {
  std::vector<ColumnInspection> columns;
  for (int64_t column = 0; column < table.num_columns(); ++column) columns.push_back(inspect_column(table, column));
  TableAdvice advice = advise(path.string(), table, columns);
  Json content = {{"rows", table.num_rows()},
                  {"delimiter", std::string{table.options().delimiter}},
                  {"decimal", std::string{table.options().decimal}},
                  {"header", table.options().header == CsvHeader::kPresent}};
  for (const ColumnInspection& column : columns) content["columns"].push_back(json_of(column));
  content["first_rows"] = first_rows_of(table);
  if (advice.times) content["time"] = json_of(*advice.times);
  return {path.string(), Source::kCsv, std::move(content), std::move(advice.hints), std::move(advice.yaml)};
}

// Returns nullopt if the rows have different numbers of cells, as where only the header has no delimiter at its end.
std::optional<CsvTable> read_headless(const Path& path, char delimiter) {
  try {
    return read_csv(path, {delimiter, CsvHeader::kAbsent});
  } catch (const UserError&) {
    return std::nullopt;
  }
}

CsvTable read_guessing(const Path& path, std::string_view head) {
  const char delimiter = guess_delimiter(head);
  std::optional<CsvTable> headless = read_headless(path, delimiter);
  const bool has_header = !headless || guess_header(*headless) == CsvHeader::kPresent;
  CsvTable table = has_header ? read_csv(path, {delimiter, CsvHeader::kPresent}) : std::move(*headless);
  if (guess_decimal(table) == '.') return table;
  return read_csv(path, {.delimiter = delimiter, .header = table.options().header, .decimal = ','});
}

bool is_named_csv(const Path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz") || name.ends_with(".tsv") || name.ends_with(".tsv.gz");
}

bool is_named_text(const Path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".txt") || name.ends_with(".txt.gz");
}

// Returns the table if the content has at least two columns and two rows. A file named .csv must be a table, and a file
// named .txt is always a text.
std::optional<CsvTable> read_if_table(const Path& path, const std::string& head) {
  if (is_named_csv(path)) return read_guessing(path, head);
  if (is_named_text(path)) return std::nullopt;
  try {
    CsvTable table = read_guessing(path, head);
    const bool has_header = table.options().header == CsvHeader::kPresent;
    if (table.num_columns() >= 2 && table.num_rows() + (has_header ? 1 : 0) >= 2) return table;
  } catch (const UserError&) {
    return std::nullopt;  // a file with ragged rows or without content is text
  }
  return std::nullopt;
}

}  // namespace

std::optional<FileInspection> inspect_csv_file(const Path& path, const std::string& head) {
  const std::optional<CsvTable> table = read_if_table(path, head);
  if (!table) return std::nullopt;
  return inspect_table(path, *table);
}

}  // namespace rnnlab
