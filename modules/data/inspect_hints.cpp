// SPDX-License-Identifier: Apache-2.0
// Hints of `data inspect` about the table of a CSV file: what may be misread, and what train refuses.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "base/numbers.h"
#include "base/text.h"
#include "data/inspect_plan.h"
#include "data/readers/spellings.h"

namespace rnnlab {
namespace {

// Returns the first names, and how many more there are.
std::string few_names(std::vector<std::string> names, size_t most = 5) {
  const size_t count = names.size();
  if (count > most) {
    names.resize(most);
    names.push_back(counted(static_cast<int64_t>(count - most), "more column"));
  }
  return join_with_and(names);
}

std::string hint_on_delimiter(const CsvTable& table) {
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
std::string hint_on_likely_thousands(const CsvTable& table, const std::vector<ColumnInspection>& columns) {
  if (std::ranges::any_of(columns, has_other_decimals)) return "";
  std::vector<std::string> names;
  std::string example;
  for (const ColumnInspection& column : columns) {
    if (!column.is_like_thousands()) continue;
    names.push_back(in_quotes(column.name));
    if (example.empty()) example = column.like_thousands;
  }
  if (names.empty()) return "";
  const std::string_view mark = table.options().decimal == ',' ? "comma" : "point";
  std::string meant = example;
  std::erase(meant, table.options().decimal);
  return fmt::format(
      "all numbers with a {0} in {1} have three digits after it, such as {2}, and are read as decimals: if {2} means "
      "{3}, remove these {0}s from the file",
      mark, few_names(names, 3), example, meant);
}

// A few texts in a column of numbers are usually missing values in another notation.
std::string hint_on_mixed_column(const std::vector<ColumnInspection>& columns) {
  for (const ColumnInspection& column : columns) {
    if (column.num_texts == 0 || column.num_numbers <= column.num_texts) continue;
    return fmt::format("{} has {} and {}, such as {}; if that is a missing value, list it in data.missing_words",
                       in_quotes(column.name), counted(column.num_numbers, "number"), counted(column.num_texts, "text"),
                       in_quotes(*column.texts.begin()));
  }
  return "";
}

// Returns whether equal values of the column are in rows that follow each other, in groups of at least two on average.
bool is_in_runs(const CsvTable& table, int64_t column) {
  std::unordered_set<std::string_view> seen;
  std::string_view last;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const std::string_view value = table.value(row, column);
    if (is_missing(value, table.options())) return false;
    if (row > 0 && value == last) continue;
    if (!seen.insert(value).second) return false;
    last = value;
  }
  return seen.size() >= 2 && 2 * std::ssize(seen) <= table.num_rows();
}

// Returns the first column that may name the sequence of a row, such as the sentence of a word, or nullptr.
const ColumnInspection* choose_sequence(const CsvTable& table, const std::vector<ColumnInspection>& columns,
                                        const Plan& plan) {
  for (const ColumnInspection& column : columns) {
    const bool may_be_name = &column != plan.target && column.num_integers == column.num_numbers;
    if (may_be_name && is_in_runs(table, column.place)) return &column;
  }
  return nullptr;
}

std::string hint_on_steps(const CsvTable& table, const std::vector<ColumnInspection>& columns, const Plan& plan) {
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

// A table that ends with a column of texts and has times may still be a series.
std::string hint_on_times(const CsvTable& table, const std::vector<ColumnInspection>& columns, const Plan& plan) {
  if (!plan.is_classification || find_time(columns) == nullptr) return "";
  const ColumnInspection* const series = choose_series_target(columns);
  if (series == nullptr || plan.target->num_numbers > 0) return "";
  return fmt::format(
      "the rows have times: to forecast {0}, write target: [{1}], task: regression and window: {4} instead, add {1} to "
      "features, and for {2} as an input categories: [{3}]",
      in_quotes(series->name), yaml_text(series->name), in_quotes(plan.target->name), yaml_text(plan.target->name),
      usual_window(table.num_rows()));
}

std::string hint_on_plan(const CsvTable& table, const Plan& plan) {
  if (plan.target == nullptr) return "no column has numbers or repeated texts: there is no target to predict";
  if (!plan.is_possible()) return "no other column has numbers: there is nothing to predict the target from";
  if (plan.is_classification && plan.target->num_missing > 0 && plan.words_as_classes().empty())
    return fmt::format("{} in {}: with data.missing: drop these rows are left out",
                       counted(plan.target->num_missing, "missing label"), in_quotes(plan.target->name));
  if (plan.window == 0 && !plan.is_classification)
    return fmt::format(
        "if the rows are a series in the order of time, add window: {} (rows that make one sample) to data{}{}",
        usual_window(table.num_rows()),
        plan.names_features ? fmt::format(", and {} to features, because its own past tells most of its future",
                                          yaml_text(plan.target->name))
                            : "",
        plan.has_missing() ? ", and write missing: previous instead of drop" : "");
  return "";
}

std::string hint_on_row_numbers(const std::vector<ColumnInspection>& columns) {
  std::vector<std::string> names;
  for (const ColumnInspection& column : columns)
    if (column.numbers_rows) names.push_back(in_quotes(column.name));
  if (names.empty()) return "";
  return fmt::format(
      "{} {} the rows, which is an index and not an input; train refuses it unless data.features names it",
      few_names(names), names.size() == 1 ? "numbers" : "number");
}

std::string hint_on_nameless(const std::vector<ColumnInspection>& columns) {
  for (const ColumnInspection& column : columns)
    if (column.is_nameless_and_empty)
      return fmt::format("{} has neither a name nor values: the lines end with a delimiter; it is left out",
                         in_quotes(column.name));
  return "";
}

// A word that means a missing value by default may be a value of a column of texts.
std::string hint_on_missing_words(const std::vector<ColumnInspection>& columns) {
  for (const ColumnInspection& column : columns) {
    if (column.missing_words.empty() || column.num_texts == 0 || column.num_booleans == column.num_texts) continue;
    std::vector<std::string> words;
    for (const auto& [word, count] : column.missing_words)
      words.push_back(fmt::format("{} ({})", in_quotes(word), count));
    return fmt::format(
        "{} has {} among its texts, which {} a missing value by default: if {} a value, set data.missing_words to the "
        "words that mean a missing value ([] for none)",
        in_quotes(column.name), few_names(words), words.size() == 1 ? "means" : "mean",
        words.size() == 1 ? "it is" : "one of them is");
  }
  return "";
}

// Returns whether the number is further from the others than these are from each other.
bool is_far_from(const Moments& others, double number) {
  const double distance = number < others.minimum() ? others.minimum() - number : number - others.maximum();
  return others.count() > 1 && distance > others.maximum() - others.minimum();
}

// Nothing is filled or left out because of this: -999 may be a number.
std::string hint_on_placeholders(const std::vector<ColumnInspection>& columns, const CsvOptions& options) {
  for (const ColumnInspection& column : columns)
    for (const auto& [cell, count] : column.placeholders)
      if (is_far_from(column.likely_values, *number_of(cell, options)))
        return fmt::format(
            "{} has {} {}, far from its other numbers: if it means a missing value, list it in data.missing_words",
            in_quotes(column.name), cell, count == 1 ? "once" : format_count(count) + " times");
  return "";
}

std::string hint_on_spellings(const std::vector<ColumnInspection>& columns, const CsvOptions& options) {
  for (const ColumnInspection& column : columns) {
    if (column.alike.empty()) continue;
    std::vector<std::string> values;
    for (const std::string& value : column.alike) values.push_back(in_quotes(value));
    const std::string first = simplest_spelling(column.alike.front(), options);
    const bool are_one = std::ranges::all_of(
        column.alike, [&](const std::string& value) { return simplest_spelling(value, options) == first; });
    return fmt::format("{} has {}: {}", in_quotes(column.name), join_with_and(values),
                       are_one
                           ? "they are read as one value"
                           : "they are different values, although they look like one; write them alike if they are");
  }
  return "";
}

// Says what train refuses about the times, and with which keys it trains.
std::string hint_on_time_order(const std::optional<TimeInspection>& time) {
  if (!time || time->is_in_order()) return "";
  const TimeSteps& steps = time->steps;
  std::vector<std::string> facts;
  if (steps.num_backwards > 0)
    facts.push_back(
        steps.is_newest_first
            ? "the newest rows are first (data.unsorted)"
            : fmt::format("{} earlier than the row before (data.unsorted)",
                          steps.num_backwards == 1 ? "1 row is" : format_count(steps.num_backwards) + " rows are"));
  if (steps.num_repeated > 0)
    facts.push_back(
        fmt::format("{} the time of another (data.duplicates)",
                    steps.num_repeated == 1 ? "1 row has" : format_count(steps.num_repeated) + " rows have"));
  if (!steps.is_regular())
    facts.push_back(fmt::format("{} not {} (data.gaps)",
                                steps.num_gaps + steps.num_short == 1
                                    ? "1 step is"
                                    : format_count(steps.num_gaps + steps.num_short) + " steps are",
                                duration_text(steps.usual_step)));
  return fmt::format("times in {}: {}; train refuses a series like this unless these keys say what to do",
                     in_quotes(time->column), join_with_and(facts));
}

}  // namespace

TableAdvice advise(const std::string& path, const CsvTable& table, const std::vector<ColumnInspection>& columns) {
  const Plan plan = make_plan(path, table, columns);
  TableAdvice advice{.yaml = {}, .hints = {}, .times = plan.times};
  add_once(advice.hints, hint_on_delimiter(table));
  add_once(advice.hints, hint_on_likely_thousands(table, columns));
  const std::string misread = hint_on_decimal_commas(columns);
  add_once(advice.hints, misread);
  const std::string thousands = hint_on_thousands(columns);
  add_once(advice.hints, thousands);
  if (!misread.empty() || !thousands.empty()) return advice;  // A plan for misread columns would be wrong.
  add_once(advice.hints, hint_on_mixed_column(columns));
  add_once(advice.hints, hint_on_nameless(columns));
  add_once(advice.hints, hint_on_row_numbers(columns));
  add_once(advice.hints, hint_on_time_order(plan.times));
  add_once(advice.hints, hint_on_missing_words(columns));
  add_once(advice.hints, hint_on_placeholders(columns, table.options()));
  add_once(advice.hints, hint_on_spellings(columns, table.options()));
  add_once(advice.hints, hint_on_plan(table, plan));
  add_once(advice.hints, hint_on_times(table, columns, plan));
  add_once(advice.hints, hint_on_steps(table, columns, plan));
  if (plan.is_possible()) advice.yaml = yaml_for(path, table, plan);
  return advice;
}

}  // namespace rnnlab
