// SPDX-License-Identifier: Apache-2.0
#include "data/csv_features.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/config/value.h"
#include "base/error.h"
#include "base/text.h"
#include "data/readers/row_numbers.h"
#include "data/readers/times.h"

namespace rnnlab {
namespace {

// Returns whether the column of an input that was not named holds texts. A column of numbers may begin with a word,
// which the reader of numbers refuses.
bool holds_texts(const CsvTable& table, int64_t column) {
  constexpr int64_t kFirstRows = 50;
  if (!is_text(table.value(0, column), table.options())) return false;
  int64_t num_texts = 0, num_others = 0;
  for (int64_t row = 0; row < std::min(kFirstRows, table.num_rows()); ++row)
    ++(is_text(table.value(row, column), table.options()) ? num_texts : num_others);
  return num_texts >= num_others;
}

// Why a column is hardly meant as an input.
enum class Doubt { kNone, kTexts, kNumbersOfRows, kTimes };

Doubt doubt_about(const CsvTable& table, int64_t column) {
  if (holds_texts(table, column)) return Doubt::kTexts;
  if (numbers_rows(table, column)) return Doubt::kNumbersOfRows;
  const auto times = times_of_column(table, column);
  return times && times->are_hardly_inputs ? Doubt::kTimes : Doubt::kNone;
}

// Returns "" if no cell is known.
std::string_view first_known_cell(const CsvTable& table, int64_t column) {
  for (int64_t row = 0; row < table.num_rows(); ++row)
    if (const std::string_view cell = table.value(row, column); !is_missing(cell, table.options())) return cell;
  return "";
}

std::vector<std::string> names_of_numbers(const CsvTable& table, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (doubt_about(table, table.column_index(name)) == Doubt::kNone) found.push_back(config::yaml_text(name));
  return found;
}

// Values that do not repeat, such as dates, are not categories.
bool has_repeated_texts(const CsvTable& table, int64_t column) {
  const std::string_view first = table.value(0, column);
  for (int64_t row = 1; row < table.num_rows(); ++row)
    if (table.value(row, column) == first) return true;
  return false;
}

// Returns "leave the column out: data.features: [a, b]", with the columns that are inputs.
std::string advice_to_leave_out(const CsvTable& table, const std::vector<std::string>& names) {
  constexpr size_t kMostNamed = 12;
  const std::vector<std::string> numbers = names_of_numbers(table, names);
  const bool is_short = !numbers.empty() && numbers.size() <= kMostNamed;
  return "leave the column out: " + (is_short ? fmt::format("data.features: [{}]", join(numbers, ", "))
                                              : "name the columns of numbers in data.features");
}

[[noreturn]] void refuse_texts(const CsvTable& table, const std::string& name, const std::vector<std::string>& names,
                               const DataSettings& settings) {
  const int64_t column = table.column_index(name);
  const bool may_have_categories = has_series(settings) && has_repeated_texts(table, column);
  const bool are_times = times_of_column(table, column).has_value();
  const std::string quoted = config::yaml_text(name);
  const std::string key = uses_order(settings) ? "data.time: " + quoted : fmt::format("data.id: [{}]", quoted);
  table.fail_at(0, column,
                fmt::format("got {}, expected a number; {}{}{}", in_quotes(table.value(0, column)),
                            are_times ? fmt::format("if these are the times of the rows, set {}; else ", key) : "",
                            advice_to_leave_out(table, names),
                            may_have_categories && !are_times
                                ? fmt::format("; or embed its values: data.categories: [{}]", quoted)
                                : ""));
}

// Refuses columns that are hardly meant as inputs, if data.features does not name them.
void refuse_unlikely_features(const CsvTable& table, const std::vector<std::string>& names,
                              const DataSettings& settings) {
  for (const std::string& name : names) {
    const auto is_in = [&](const std::vector<std::string>& list) { return is_listed(list, name); };
    if (is_in(settings.target) || is_in(settings.known) || is_in(settings.static_features)) continue;
    const int64_t column = table.column_index(name);
    const Doubt doubt = doubt_about(table, column);
    if (doubt == Doubt::kNone) continue;
    if (doubt == Doubt::kTexts) refuse_texts(table, name, names, settings);
    throw_error(ExitCode::kData,
                "{}: column {} {}, which is not an input unless data.features names it: {}; or name it in data.id",
                table.path(), in_quotes(name),
                doubt == Doubt::kNumbersOfRows
                    ? fmt::format("numbers the rows ({}, {} ...){}", table.value(0, column), table.value(1, column),
                                  is_unnamed(table, column) ? " and has no name" : "")
                    : fmt::format("holds times such as {}", first_known_cell(table, column)),
                advice_to_leave_out(table, names));
  }
}

// Returns the columns that are inputs if data.features names none. These are all columns except those of data.id and
// the target; in a series of numbers the target is a feature too.
std::vector<std::string> columns_left(const CsvTable& table, const DataSettings& settings, Task task) {
  const bool looks_back = settings.window > 0 && task != Task::kClassification && !has_target_per_step(settings);
  std::vector<std::string> names;
  for (const std::string& name : table.column_names()) {
    const bool is_target = !looks_back && is_listed(settings.target, name);
    const bool is_other = is_listed(settings.id, name) || is_listed(settings.categories, name);
    if (!is_target && !is_other && name != settings.group && name != settings.time) names.push_back(name);
  }
  return names;
}

}  // namespace

Task csv_task(const DataSettings& settings) {
  if (const auto named = named_task(settings.task)) return *named;
  return settings.window > 0 && !has_target_per_step(settings) ? Task::kRegression : Task::kClassification;
}

std::vector<std::string> target_names(const DataSettings& settings) {
  if (settings.horizon.size() == 1) return settings.target;
  std::vector<std::string> names;
  for (const std::string& target : settings.target)
    for (const int64_t horizon : settings.horizon) names.push_back(name_ahead(target, horizon));
  return names;
}

std::string name_ahead(const std::string& column, int64_t horizon) { return fmt::format("{}+{}", column, horizon); }

std::string name_of_phase(std::string_view coordinate, CalendarPhase phase) {
  return fmt::format("{}({})", coordinate, config::name_of(phase));
}

std::vector<int64_t> calendar_shifts(const DataSettings& settings) {
  std::vector<int64_t> shifts;
  if (!has_calendar_ahead(settings)) return shifts;
  for (int64_t shift = settings.horizon.back(); shift >= settings.horizon.front(); shift -= settings.window)
    shifts.push_back(shift);
  return shifts;
}

namespace {

std::vector<std::string> calendar_names(const DataSettings& settings) {
  std::vector<std::string> names;
  for (const CalendarPhase phase : settings.calendar)
    for (const std::string_view coordinate : kCoordinates) names.push_back(name_of_phase(coordinate, phase));
  return names;
}

CalendarAhead calendar_ahead_of(const DataSettings& settings, int64_t first) {
  const std::vector<int64_t> shifts = calendar_shifts(settings);
  if (shifts.empty()) return {};
  CalendarAhead ahead{.num_phases = std::ssize(calendar_names(settings))};
  ahead.num_numbers = ahead.num_phases * std::ssize(shifts);
  for (const int64_t horizon : settings.horizon) {
    const int64_t before = settings.horizon.back() - horizon;
    ahead.places.push_back({.step = settings.window - 1 - before % settings.window,
                            .number = first + before / settings.window * ahead.num_phases});
  }
  return ahead;
}

}  // namespace

std::vector<std::string> derived_names(const DataSettings& settings) {
  std::vector<std::string> names;
  for (const std::string& column : settings.known)
    for (const int64_t horizon : settings.horizon) names.push_back(name_ahead(column, horizon));
  const std::vector<std::string> calendar = calendar_names(settings);
  for (const int64_t shift : calendar_shifts(settings))
    for (const std::string& name : calendar) names.push_back(name_ahead(name, shift));
  names.insert(names.end(), calendar.begin(), calendar.end());
  if (settings.gaps == Gaps::kMask) names.emplace_back(kObserved);
  return names;
}

DataShape with_horizons(DataShape shape, const DataSettings& settings) {
  shape.num_horizons = std::ssize(settings.horizon);
  shape.first_ahead = shape.num_numbers() - std::ssize(derived_names(settings));
  shape.num_ahead = std::ssize(settings.known);
  shape.calendar_ahead = calendar_ahead_of(settings, shape.first_ahead + shape.known_numbers());
  return shape;
}

std::vector<std::string> feature_names(const CsvTable& table, const DataSettings& settings, Task task,
                                       std::vector<std::string>& notes) {
  if (!settings.features.empty()) return settings.features;
  std::vector<std::string> names = columns_left(table, settings, task);
  std::erase_if(names, [&](const std::string& name) {
    const bool is_left_out = is_after_last_delimiter(table, table.column_index(name));
    if (is_left_out)
      notes.push_back(fmt::format("column {} has neither a name nor values, and is left out: the lines end with {}",
                                  table.column_index(name) + 1,
                                  in_quotes(std::string_view(&table.options().delimiter, 1))));
    return is_left_out;
  });
  if (names.empty() && settings.categories.empty()) {
    throw_error(ExitCode::kData,
                "{}: no column is left for the features: data.target {}all of them; name fewer columns there, or set "
                "data.features",
                table.path(), settings.id.empty() ? "names " : "and data.id name ");
  }
  refuse_unlikely_features(table, names, settings);
  return names;
}

}  // namespace rnnlab
