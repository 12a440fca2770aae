// SPDX-License-Identifier: Apache-2.0
// Describes the table of a CSV file for `data inspect`, and guesses from its values how to train on it.
#include "data/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/csv.h"

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

void count(ColumnInspection& column, std::string_view cell, const CsvOptions& options) {
  if (is_missing(cell)) {
    ++column.num_missing;
    return;
  }
  add_up_to_most(column.values, cell);
  if (const auto number = number_of(cell, options)) {
    column.numbers.add(*number);
    ++column.num_numbers;
    column.num_integers += parse_int64(cell) ? 1 : 0;
    count_like_thousands(column, cell, options.decimal);
    return;
  }
  ++column.num_texts;
  column.num_decimal_commas += options.decimal == '.' && has_decimal_comma(cell) ? 1 : 0;
  add_up_to_most(column.texts, cell);
}

ColumnInspection inspect_column(const Table& table, int64_t column) {
  ColumnInspection result;
  result.name = table.column_names()[static_cast<size_t>(column)];
  for (int64_t row = 0; row < table.num_rows(); ++row) count(result, trim(table.cell(row, column)), table.options());
  return result;
}

}  // namespace

bool ColumnInspection::is_label() const {
  constexpr size_t kMostIntegers = 20;
  const size_t distinct = values.size();
  const auto present = static_cast<size_t>(num_numbers + num_texts);
  if (distinct < 2 || distinct > kMostClasses || num_decimal_commas > 0) return false;
  if (num_texts > 0) return distinct < present;
  return num_integers == num_numbers && distinct <= kMostIntegers && 2 * distinct <= present;
}

namespace {

// Returns the last column that can be a target, or nullptr.
const ColumnInspection* choose_target(const std::vector<ColumnInspection>& columns) {
  const auto can_be_target = [](const ColumnInspection& column) { return column.is_label() || column.is_numeric(); };
  const auto found = std::find_if(columns.rbegin(), columns.rend(), can_be_target);
  return found == columns.rend() ? nullptr : &*found;
}

// Values such as "2024-01-31", "1/2" or "12:30" show that the rows are in the order of time.
bool is_time(const ColumnInspection& column) {
  const auto is_one = [](const std::string& text) {
    constexpr std::string_view kDigits = "0123456789";
    return kDigits.find(text[0]) != std::string_view::npos && text.find_first_of("-/:.") != std::string::npos;
  };
  return column.num_numbers == 0 && !column.texts.empty() && std::ranges::all_of(column.texts, is_one);
}

// Returns whether a word of the name is one for times, as in "time", "Date" and "start_time".
bool is_named_as_time(const ColumnInspection& column) {
  constexpr std::string_view kNames[] = {"date", "time", "datetime", "timestamp"};
  std::string name = lower_case(column.name);
  std::ranges::replace_if(
      name, [](char c) { return c < 'a' || c > 'z'; }, ' ');
  const std::vector<std::string> words = split(name, ' ');
  return std::ranges::any_of(kNames, [&](std::string_view known) { return std::ranges::count(words, known) > 0; });
}

// Returns the column with times, or nullptr. Unless it is the first one and its values look like times, its name must
// be one for times, because addresses and versions look like times. Times may have any form, such as "day 0 01:00".
const ColumnInspection* find_time(const std::vector<ColumnInspection>& columns) {
  const auto is_one = [&](const ColumnInspection& column) {
    if (&column == &columns.front() && is_time(column)) return true;
    const bool has_texts = column.num_numbers == 0 && !column.texts.empty();
    return is_named_as_time(column) && has_texts && (is_time(column) || !column.is_label());
  };
  const auto found = std::ranges::find_if(columns, is_one);
  return found == columns.end() ? nullptr : &*found;
}

// A part of the time is at most an input, because it is not a quantity to forecast.
bool is_part_of_time(const ColumnInspection& column) {
  constexpr std::string_view kNames[] = {"year",   "month",  "week", "weekday", "day", "hour",
                                         "minute", "second", "time", "index",   "id"};
  return std::ranges::find(kNames, lower_case(trim(column.name))) != std::end(kNames);
}

// Returns the target of a series: the first column of numbers that is not a part of the time.
const ColumnInspection* choose_series_target(const std::vector<ColumnInspection>& columns) {
  const auto can_be_target = [](const ColumnInspection& column) {
    return column.is_numeric() && !is_part_of_time(column);
  };
  const auto found = std::ranges::find_if(columns, can_be_target);
  return found == columns.end() ? nullptr : &*found;
}

// Returns whether the table looks like one of the UCR archive: no header, a class of integers first, then the values of
// a series. The names of the archive's files are enough, because small ones have few series of each class.
bool has_class_first(const std::string& path, const Table& table, const std::vector<ColumnInspection>& columns) {
  const ColumnInspection& first = columns[0];
  const bool has_integers = first.num_integers > 0 && first.num_integers == table.num_rows();
  if (table.options().header == CsvHeader::kPresent || !has_integers || columns.size() < 3) return false;
  const auto is_of_texts = [](const ColumnInspection& column) { return column.num_texts > 0; };
  if (std::ranges::any_of(columns, is_of_texts)) return false;
  if (archive_files(path)) return true;
  const auto rest = std::span(columns).subspan(1);
  // The ends of shorter series are missing.
  const auto is_value = [](const ColumnInspection& column) {
    return column.num_missing > 0 || (column.is_numeric() && !column.is_label());
  };
  return table.options().delimiter == '\t' && first.values.size() >= 2 && first.values.size() <= kMostClasses &&
         2 * std::ssize(first.values) <= first.num_integers && std::ranges::all_of(rest, is_value);
}

// The plan for predicting a target. If only the target is numeric, a series of its earlier values is the input.
struct Plan {
  const ColumnInspection* target = nullptr;
  std::vector<const ColumnInspection*> features;
  bool names_features = false;  // whether the settings must list the features, because some columns are left out
  bool is_classification = false;
  int64_t window = 0;                       // of the settings; 0 if each row is a sample
  const ColumnInspection* time = nullptr;   // the column with the times of a series, if there is one
  const ColumnInspection* group = nullptr;  // the column that names the series of a row, if there are several
  bool has_padding = false;                 // whether a missing value is most likely the end of a shorter series

  bool is_possible() const { return !features.empty(); }
  bool has_missing() const {
    const auto lacks = [](const ColumnInspection* column) { return column->num_missing > 0; };
    return std::ranges::any_of(features, lacks) || (!is_classification && lacks(target));
  }
};

bool is_feature(const Plan& plan, const ColumnInspection* column) {
  return std::ranges::find(plan.features, column) != plan.features.end();
}

int64_t usual_window(const Table& table) {
  constexpr int64_t kUsual = 24;
  return std::clamp<int64_t>(table.num_rows() / 20, 1, kUsual);
}

// Returns whether two rows have the same time, as in a file with several series.
bool has_repeated_times(const Table& table, int64_t time) {
  std::unordered_set<std::string_view> times;
  for (int64_t row = 0; row < table.num_rows(); ++row)
    if (!times.insert(trim(table.cell(row, time))).second) return true;
  return false;
}

// Returns the first column of texts that repeat, except the times, or nullptr.
const ColumnInspection* choose_group(const std::vector<ColumnInspection>& columns, const ColumnInspection& time) {
  const auto found = std::ranges::find_if(columns, [&](const ColumnInspection& column) {
    return &column != &time && column.num_numbers == 0 && column.is_label();
  });
  return found == columns.end() ? nullptr : &*found;
}

// For numbers in the order of time, all numeric columns are inputs, including the target.
std::optional<Plan> make_series_plan(const Table& table, const std::vector<ColumnInspection>& columns) {
  Plan plan;
  plan.time = find_time(columns);
  if (plan.time == nullptr || columns.back().is_label()) return std::nullopt;
  plan.target = choose_series_target(columns);
  if (plan.target == nullptr) return std::nullopt;
  for (const ColumnInspection& column : columns)
    if (column.is_numeric()) plan.features.push_back(&column);
  plan.names_features = true;
  plan.window = usual_window(table);
  if (has_repeated_times(table, plan.time - columns.data())) plan.group = choose_group(columns, *plan.time);
  return plan;
}

Plan make_class_first_plan(const std::vector<ColumnInspection>& columns) {
  Plan plan{.target = &columns[0], .features = {}, .is_classification = true, .has_padding = true};
  for (const ColumnInspection& column : std::span(columns).subspan(1)) plan.features.push_back(&column);
  return plan;
}

Plan make_plan(const std::string& path, const Table& table, const std::vector<ColumnInspection>& columns) {
  if (has_class_first(path, table, columns)) return make_class_first_plan(columns);
  if (const auto series = make_series_plan(table, columns)) return *series;
  Plan plan;
  plan.target = choose_target(columns);
  if (plan.target == nullptr) return plan;
  plan.is_classification = plan.target->is_label();
  for (const ColumnInspection& column : columns)
    if (&column != plan.target && column.is_numeric()) plan.features.push_back(&column);
  plan.names_features = plan.features.size() + 1 < columns.size();
  if (!plan.features.empty() || !plan.target->is_numeric()) return plan;
  plan.features = {plan.target};
  plan.is_classification = false;
  plan.window = usual_window(table);
  return plan;
}

// Adds "  features: [...]", on several lines if there are many features.
void add_features(std::vector<std::string>& lines, const Plan& plan) {
  constexpr size_t kWidest = 90;
  std::string line = "  features: [";
  for (size_t i = 0; i < plan.features.size(); ++i) {
    const bool is_last = i + 1 == plan.features.size();
    const std::string item = yaml_text(plan.features[i]->name) + (is_last ? "]" : ", ");
    if (i > 0 && display_width(line + item) > kWidest) {
      lines.emplace_back(line.substr(0, line.size() - 1));
      line = "    ";
    }
    line += item;
  }
  lines.push_back(line);
}

std::string_view missing_line(const Plan& plan) {
  if (plan.has_padding) return "  missing: zero        # shorter series end in missing values";
  return plan.window > 0 ? "  missing: mean        # or previous, zero"
                         : "  missing: drop        # the rows that lack a value; or mean, zero";
}

std::vector<std::string> yaml_for(const std::string& path, const Table& table, const Plan& plan) {
  std::vector<std::string> lines = {"data:", "  source: csv"};
  std::ranges::copy(yaml_of_files(path), std::back_inserter(lines));
  if (table.options().delimiter != ',') lines.push_back("  delimiter: " + yaml_text({table.options().delimiter}));
  if (table.options().decimal != '.') lines.push_back("  decimal: " + yaml_text({table.options().decimal}));
  if (table.options().header == CsvHeader::kAbsent) lines.emplace_back("  header: false");
  if (plan.names_features) add_features(lines, plan);
  lines.push_back("  target: [" + yaml_text(plan.target->name) + "]");
  lines.emplace_back(plan.is_classification ? "  task: classification" : "  task: regression");
  if (plan.window > 0)
    lines.push_back(
        fmt::format("  window: {:<12} # rows that make one sample; the target is the row after them", plan.window));
  if (plan.group != nullptr) {
    lines.push_back("  group: " + yaml_text(plan.group->name) + "  # the series of a row");
    lines.push_back(fmt::format("  id: [{}, {}]", yaml_text(plan.group->name), yaml_text(plan.time->name)));
  }
  if (plan.has_missing()) lines.emplace_back(missing_line(plan));
  lines.emplace_back("model:");
  lines.emplace_back(plan.is_classification ? "  kind: sequence_classifier" : "  kind: sequence_regressor");
  return lines;
}

std::string hint_on_delimiter(const Table& table) {
  if (table.num_columns() > 1) return "";
  const std::string_view first = table.cell(0, 0);
  for (const char candidate : {';', '\t', '|', ','})
    if (first.find(candidate) != std::string_view::npos && !has_decimal_comma(trim(first)))
      return fmt::format("one column only, but its cells hold {}: if that separates them, set data.delimiter: {}",
                         in_quotes(std::string_view(&candidate, 1)), yaml_text({candidate}));
  return "";
}

std::string hint_on_decimal_commas(const std::vector<ColumnInspection>& columns) {
  std::vector<std::string> names;
  for (const ColumnInspection& column : columns)
    if (column.num_decimal_commas > 0) names.push_back(in_quotes(column.name));
  if (names.empty()) return "";
  return fmt::format(
      "numbers with a decimal comma (1,5) and with a decimal point (1.5) are mixed in the file, the former "
      "in {}: write all of them alike",
      join_with_and(names));
}

// Returns whether a number has points between thousands, such as "1.326,67".
bool has_marks_of_thousands(std::string_view text) {
  const size_t comma = text.find(',');
  const size_t point = text.find('.');
  constexpr size_t kDigitsOfGroup = 3;
  if (comma == std::string_view::npos || point == std::string_view::npos || comma < point) return false;
  std::string without(text);
  std::erase(without, '.');
  return has_decimal_comma(without) && text.substr(0, comma).size() - text.rfind('.', comma) == kDigitsOfGroup + 1;
}

std::string hint_on_thousands(const std::vector<ColumnInspection>& columns) {
  for (const ColumnInspection& column : columns) {
    const auto found = std::ranges::find_if(column.texts, has_marks_of_thousands);
    if (found == column.texts.end()) continue;
    return fmt::format(
        "{} has numbers with points between thousands, such as {}, which are read as texts: remove these points",
        in_quotes(column.name), *found);
  }
  return "";
}

// A number that is neither an integer nor written as 1.326 shows that the mark is a decimal mark in this file.
bool has_other_decimals(const ColumnInspection& column) {
  return column.num_integers + column.num_like_thousands < column.num_numbers;
}

// Such numbers are read without an error, but as a thousandth of what the file means.
std::string hint_on_likely_thousands(const Table& table, const std::vector<ColumnInspection>& columns) {
  if (std::ranges::any_of(columns, has_other_decimals)) return "";
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> names;
  std::string example;
  for (const ColumnInspection& column : columns) {
    if (!column.is_like_thousands()) continue;
    names.push_back(in_quotes(column.name));
    if (example.empty()) example = column.like_thousands;
  }
  if (names.empty()) return "";
  if (const size_t num_names = names.size(); num_names > kMostNamed) {
    names.resize(kMostNamed);
    names.push_back(counted(static_cast<int64_t>(num_names - kMostNamed), "more column"));
  }
  const std::string_view mark = table.options().decimal == ',' ? "comma" : "point";
  std::string meant = example;
  std::erase(meant, table.options().decimal);
  return fmt::format(
      "all numbers with a {0} in {1} have three digits after it, such as {2}, and are read as decimals: if {2} means "
      "{3}, remove these {0}s from the file",
      mark, join_with_and(names), example, meant);
}

// A few texts in a column of numbers are usually missing values in another notation.
std::string hint_on_mixed_column(const std::vector<ColumnInspection>& columns) {
  for (const ColumnInspection& column : columns) {
    if (column.num_texts == 0 || column.num_numbers <= column.num_texts) continue;
    return fmt::format("{} has {} and {}, such as {}; if that is a missing value, leave the cell empty or write NA",
                       in_quotes(column.name), counted(column.num_numbers, "number"), counted(column.num_texts, "text"),
                       in_quotes(*column.texts.begin()));
  }
  return "";
}

// Returns whether equal values of the column are in rows that follow each other, in groups of at least two on average.
bool is_in_runs(const Table& table, int64_t column) {
  std::unordered_set<std::string_view> seen;
  std::string_view last;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const std::string_view value = trim(table.cell(row, column));
    if (is_missing(value)) return false;
    if (row > 0 && value == last) continue;
    if (!seen.insert(value).second) return false;
    last = value;
  }
  return seen.size() >= 2 && 2 * std::ssize(seen) <= table.num_rows();
}

// Returns the first column that may name the sequence of a row, such as the sentence of a word, or nullptr.
const ColumnInspection* choose_sequence(const Table& table, const std::vector<ColumnInspection>& columns,
                                        const Plan& plan) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnInspection& column = columns[i];
    const bool may_be_name = &column != plan.target && column.num_integers == column.num_numbers;
    if (may_be_name && is_in_runs(table, static_cast<int64_t>(i))) return &column;
  }
  return nullptr;
}

std::string hint_on_steps(const Table& table, const std::vector<ColumnInspection>& columns, const Plan& plan) {
  if (!plan.is_classification || plan.window > 0 || table.options().header == CsvHeader::kAbsent) return "";
  const ColumnInspection* const sequence = choose_sequence(table, columns, plan);
  if (sequence == nullptr) return "";
  std::string categories;
  for (const ColumnInspection& column : columns)
    if (&column != plan.target && &column != sequence && column.num_numbers == 0 && column.is_label())
      categories += (categories.empty() ? "" : ", ") + yaml_text(column.name);
  return fmt::format(
      "if each row is a step of a sequence, such as a word of a sentence, add target_per: step and group: {}{} to "
      "data{}",
      yaml_text(sequence->name), categories.empty() ? "" : fmt::format(" and categories: [{}]", categories),
      is_feature(plan, sequence) ? fmt::format(", and remove {} from features", yaml_text(sequence->name)) : "");
}

// A table that ends with a column of texts and has times may be a series all the same.
std::string hint_on_times(const Table& table, const std::vector<ColumnInspection>& columns, const Plan& plan) {
  if (!plan.is_classification || find_time(columns) == nullptr) return "";
  const ColumnInspection* const series = choose_series_target(columns);
  if (series == nullptr || plan.target->num_numbers > 0) return "";
  return fmt::format(
      "the rows have times: to forecast {0}, write target: [{1}], task: regression and window: {4} instead, add {1} to "
      "features, and for {2} as an input categories: [{3}]",
      in_quotes(series->name), yaml_text(series->name), in_quotes(plan.target->name), yaml_text(plan.target->name),
      usual_window(table));
}

std::string hint_on_plan(const Table& table, const Plan& plan) {
  if (plan.target == nullptr) return "no column has numbers or repeated texts: there is no target to predict";
  if (!plan.is_possible()) return "no other column has numbers: there is nothing to predict the target from";
  if (plan.is_classification && plan.target->num_missing > 0)
    return fmt::format("{} in {}: fill them, or remove their rows, because every sample needs a class",
                       counted(plan.target->num_missing, "missing label"), in_quotes(plan.target->name));
  if (plan.window == 0 && !plan.is_classification)
    return fmt::format(
        "if the rows are a series in the order of time, add window: {} (rows that make one sample) to data{}{}",
        usual_window(table),
        plan.names_features ? fmt::format(", and {} to features, because its own past tells most of its future",
                                          yaml_text(plan.target->name))
                            : "",
        plan.has_missing() ? ", and write missing: previous instead of drop" : "");
  return "";
}

// Says how to train on a CSV table: the lines of an experiment that run unchanged, and hints about obstacles. Both are
// guessed from the columns. The target is the last possible column.
struct TableAdvice {
  std::vector<std::string> yaml;  // empty if there is no possible target or no possible input
  std::vector<std::string> hints;
};

// `path` is the path as the user wrote it; `columns` are all columns of `table`.
TableAdvice advise(const std::string& path, const Table& table, const std::vector<ColumnInspection>& columns) {
  const Plan plan = make_plan(path, table, columns);
  TableAdvice advice;
  add_once(advice.hints, hint_on_delimiter(table));
  add_once(advice.hints, hint_on_likely_thousands(table, columns));
  const std::string misread = hint_on_decimal_commas(columns);
  add_once(advice.hints, misread);
  const std::string thousands = hint_on_thousands(columns);
  add_once(advice.hints, thousands);
  if (!misread.empty() || !thousands.empty()) return advice;  // A plan for misread columns would be wrong.
  add_once(advice.hints, hint_on_mixed_column(columns));
  add_once(advice.hints, hint_on_plan(table, plan));
  add_once(advice.hints, hint_on_times(table, columns, plan));
  add_once(advice.hints, hint_on_steps(table, columns, plan));
  if (plan.is_possible()) advice.yaml = yaml_for(path, table, plan);
  return advice;
}

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
CsvHeader guess_header(const Table& headless) {
  for (int64_t column = 0; column < headless.num_columns(); ++column) {
    if (is_number(headless.cell(0, column))) return CsvHeader::kAbsent;
  }
  return headless.num_rows() > 1 ? CsvHeader::kPresent : CsvHeader::kAbsent;
}

// Returns a comma if a number has one and no number has a point.
char guess_decimal(const Table& table) {
  bool has_comma = false;
  for (int64_t row = 0; row < table.num_rows(); ++row)
    for (int64_t column = 0; column < table.num_columns(); ++column) {
      const std::string_view cell = trim(table.cell(row, column));
      if (cell.find('.') != std::string_view::npos && parse_double(cell)) return '.';
      has_comma = has_comma || has_decimal_comma(cell);
    }
  return has_comma ? ',' : '.';
}

std::vector<std::vector<std::string>> first_rows(const Table& table) {
  std::vector<std::vector<std::string>> rows;
  for (int64_t row = 0; row < std::min(kFirstRows, table.num_rows()); ++row) {
    rows.emplace_back();
    for (int64_t column = 0; column < table.num_columns(); ++column)
      rows.back().push_back(in_quotes(table.cell(row, column)));
  }
  return rows;
}

FileInspection inspect_table(const Path& path, const Table& table) {
  TableInspection content{.num_rows = table.num_rows(),
                          .delimiter = std::string{table.options().delimiter},
                          .decimal = std::string{table.options().decimal},
                          .has_header = table.options().header == CsvHeader::kPresent,
                          .columns = {},
                          .first_rows = first_rows(table)};
  for (int64_t column = 0; column < table.num_columns(); ++column)
    content.columns.push_back(inspect_column(table, column));
  TableAdvice advice = advise(path.string(), table, content.columns);
  return {path.string(), Source::kCsv, std::move(content), std::move(advice.hints), std::move(advice.yaml)};
}

Table read_guessing(const Path& path, std::string_view head) {
  const char delimiter = guess_delimiter(head);
  Table table = read_csv(path, {delimiter, CsvHeader::kAbsent});
  if (guess_header(table) == CsvHeader::kPresent) table = read_csv(path, {delimiter, CsvHeader::kPresent});
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
std::optional<Table> read_if_table(const Path& path, const std::string& head) {
  if (is_named_csv(path)) return read_guessing(path, head);
  if (is_named_text(path)) return std::nullopt;
  try {
    Table table = read_guessing(path, head);
    const bool has_header = table.options().header == CsvHeader::kPresent;
    if (table.num_columns() >= 2 && table.num_rows() + (has_header ? 1 : 0) >= 2) return table;
  } catch (const UserError&) {
    return std::nullopt;  // a file with ragged rows or without content is text
  }
  return std::nullopt;
}

}  // namespace

std::optional<FileInspection> inspect_csv_file(const Path& path, const std::string& head) {
  const std::optional<Table> table = read_if_table(path, head);
  if (!table) return std::nullopt;
  return inspect_table(path, *table);
}

}  // namespace rnnlab
