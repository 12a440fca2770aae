// SPDX-License-Identifier: Apache-2.0
#include "data/inspect_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/numbers.h"
#include "base/text.h"
#include "data/csv_time.h"
#include "data/readers/rows.h"

namespace rnnlab {
namespace {

// Returns the last column that can be a target, or nullptr.
const ColumnInspection* choose_target(const std::vector<ColumnInspection>& columns) {
  const auto can_be_target = [](const ColumnInspection& column) {
    return (column.is_label() || column.is_numeric()) && !column.numbers_rows && !column.has_times();
  };
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

}  // namespace

// Unless the times can be read, the name of the column must be one for times, or it is the first one and its values
// look like times, because addresses and versions look like times. Times may have any form, such as "day 0 01:00".
const ColumnInspection* find_time(const std::vector<ColumnInspection>& columns) {
  const auto has_texts = [](const ColumnInspection& column) {
    return column.num_numbers == 0 && !column.texts.empty();
  };
  for (const ColumnInspection& column : columns)
    if (column.has_times() && (has_texts(column) || is_name_of_time(column.name))) return &column;
  // A column of years shows the order of time only if no year is in two rows, as in a table of one series.
  for (const ColumnInspection& column : columns)
    if (column.all_times() != nullptr && column.num_numbers == std::ssize(*column.all_times()) &&
        !has_repeated(*column.all_times()))
      return &column;
  const auto is_one = [&](const ColumnInspection& column) {
    if (&column == &columns.front() && is_time(column)) return true;
    return is_name_of_time(column.name) && has_texts(column) && (is_time(column) || !column.is_label());
  };
  const auto found = std::ranges::find_if(columns, is_one);
  return found == columns.end() ? nullptr : &*found;
}

namespace {

// A part of the time is at most an input, because it is not a quantity to forecast.
bool is_part_of_time(const ColumnInspection& column) {
  constexpr std::string_view kNames[] = {"year",   "month",  "week", "weekday", "day", "hour",
                                         "minute", "second", "time", "index",   "id"};
  return std::ranges::find(kNames, lower_case(trim(column.name))) != std::end(kNames);
}

}  // namespace

const ColumnInspection* choose_series_target(const std::vector<ColumnInspection>& columns,
                                             const ColumnInspection* group) {
  const auto can_be_target = [&](const ColumnInspection& column) {
    return column.may_be_input() && column.num_booleans == 0 && &column != group && !is_part_of_time(column);
  };
  const auto found = std::ranges::find_if(columns, can_be_target);
  return found == columns.end() ? nullptr : &*found;
}

namespace {

// Returns whether the table looks like one of the UCR archive: no header, a class of integers first, then the values of
// a series. The names of the archive's files are enough, because small ones have few series of each class.
bool has_class_first(const std::string& path, const CsvTable& table, const std::vector<ColumnInspection>& columns) {
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

}  // namespace

bool Plan::has_missing() const {
  const auto lacks = [](const ColumnInspection* column) { return column->num_missing > 0; };
  int64_t num_missing = target->num_missing;
  if (!words_as_classes().empty())
    for (const auto& [word, count] : target->missing_words) num_missing -= count;
  return std::ranges::any_of(features, lacks) || num_missing > 0;
}

std::vector<std::string> Plan::words_as_classes() const {
  std::vector<std::string> words;
  if (target == nullptr || !is_classification || target->num_numbers > 0) return words;
  for (const auto& [word, count] : target->missing_words) words.push_back(word);
  return words;
}

bool is_feature(const Plan& plan, const ColumnInspection* column) {
  return std::ranges::find(plan.features, column) != plan.features.end();
}

int64_t usual_window(int64_t num_rows) {
  constexpr int64_t kUsual = 24, kWindowsOfRows = 20;
  return std::clamp<int64_t>(num_rows / kWindowsOfRows, 1, kUsual);
}

namespace {

// The times of the rows, in microseconds; times of any other form are numbered as texts, which shows those that repeat.
std::vector<int64_t> times_of(const CsvTable& table, const ColumnInspection& time) {
  if (time.all_times() != nullptr) return *time.all_times();
  std::unordered_map<std::string_view, int64_t> numbers;
  std::vector<int64_t> times;
  for (int64_t row = 0; row < table.num_rows(); ++row)
    times.push_back(numbers.emplace(table.value(row, time.place), std::ssize(numbers)).first->second);
  return times;
}

std::string name_of(const ColumnInspection* column) { return column == nullptr ? "" : column->name; }

bool makes_times_unique(const CsvTable& table, const std::string& group, const std::vector<int64_t>& times) {
  return std::ranges::none_of(rows_by_series(table, group),
                              [&](const SeriesRows& series) { return has_repeated(at_rows(times, series.rows)); });
}

// Returns the column that names the series of a row, if times repeat: the first one with which they do not, else the
// first of texts that repeat; or nullptr.
const ColumnInspection* choose_group(const CsvTable& table, const std::vector<ColumnInspection>& columns,
                                     const ColumnInspection& time, const std::vector<int64_t>& times) {
  const ColumnInspection* first_of_texts = nullptr;
  for (const ColumnInspection& column : columns) {
    if (&column == &time || column.has_times() || !column.is_label() || column.num_missing > 0) continue;
    if (makes_times_unique(table, column.name, times)) return &column;
    if (first_of_texts == nullptr && column.num_numbers == 0) first_of_texts = &column;
  }
  return first_of_texts;
}

void add_steps(TimeSteps& all, const TimeSteps& own, bool is_first) {
  all.num_backwards += own.num_backwards;
  all.num_repeated += own.num_repeated;
  all.num_gaps += own.num_gaps;
  all.num_short += own.num_short;
  all.num_steps += own.num_steps;
  all.is_newest_first = own.is_newest_first && (is_first || all.is_newest_first);
  if (all.usual_step == 0) all.usual_step = own.usual_step;
}

TimeInspection inspect_times(const CsvTable& table, const ColumnInspection& time, const ColumnInspection* group) {
  const std::vector<int64_t>& times = *time.all_times();
  TimeInspection found{.column = time.name, .group = name_of(group), .first = "", .last = "", .steps = {}};
  bool is_first = true;
  for (const SeriesRows& series : rows_by_series(table, found.group)) {
    add_steps(found.steps, examine_times(at_rows(times, series.rows)), is_first);
    is_first = false;
  }
  const auto [earliest, latest] = std::ranges::minmax_element(times);
  found.first = table.value(earliest - times.begin(), time.place);
  found.last = table.value(latest - times.begin(), time.place);
  return found;
}

// The rows of one series in the order of time, and those of them that follow a gap.
struct Stretch {
  int64_t num_rows = 0;
  std::vector<int64_t> breaks = {};
};

Stretch stretch_of(std::vector<int64_t> times, bool has_gaps) {
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  Stretch stretch{.num_rows = std::ssize(times)};
  if (!has_gaps) return stretch;
  const Irregular uneven = irregular_steps(times);
  for (size_t i = 0; i < times.size(); ++i)
    if (uneven.is_long[i] || uneven.is_short[i]) stretch.breaks.push_back(static_cast<int64_t>(i));
  return stretch;
}

bool has_window(const Stretch& stretch, int64_t window, int64_t begin, int64_t end) {
  for (int64_t first = begin; first + window < end; ++first) {
    const auto next = std::ranges::upper_bound(stretch.breaks, first);
    if (next == stretch.breaks.end() || *next > first + window) return true;
    first = *next - 1;
  }
  return false;
}

// Returns whether the series has a window for training, and one for validation, whose target is in the last part of its
// rows.
bool fits(const Stretch& stretch, int64_t window, double valid_fraction) {
  if (stretch.num_rows < 2) return false;
  const auto share = std::llround(valid_fraction * static_cast<double>(stretch.num_rows));
  const int64_t border = stretch.num_rows - std::clamp<int64_t>(share, 1, stretch.num_rows - 1);
  return has_window(stretch, window, 0, border) &&
         has_window(stretch, window, std::max<int64_t>(0, border - window), stretch.num_rows);
}

// Chooses a window that fits at least half of the series that any window fits.
bool choose_window(Plan& plan, const std::vector<Stretch>& series) {
  constexpr double kDefault = .1, kFractions[] = {kDefault, .2, .3, .5};
  constexpr int64_t kWindowsOfSeries = 10;
  for (const double fraction : kFractions) {
    std::vector<Stretch> useful;
    std::ranges::copy_if(series, std::back_inserter(useful),
                         [&](const Stretch& one) { return fits(one, 1, fraction); });
    if (useful.empty()) continue;
    const int64_t shortest = std::ranges::min(useful, {}, &Stretch::num_rows).num_rows;
    plan.window = series.size() == 1 ? usual_window(shortest) : usual_window(shortest * 20 / kWindowsOfSeries);
    while (2 * std::ranges::count_if(useful, [&](const Stretch& one) { return fits(one, plan.window, fraction); }) <
           std::ssize(useful))
      --plan.window;
    plan.valid_fraction = fraction == kDefault ? 0 : fraction;
    return true;
  }
  return false;
}

void plan_window(Plan& plan, const CsvTable& table) {
  const std::vector<int64_t> times = plan.times ? times_of(table, *plan.time) : first_rows(table.num_rows());
  const auto chooses = [&](bool has_gaps) {
    std::vector<Stretch> stretches;
    for (const SeriesRows& series : rows_by_series(table, name_of(plan.group)))
      stretches.push_back(stretch_of(at_rows(times, series.rows), has_gaps));
    return choose_window(plan, stretches);
  };
  const bool has_gaps = plan.times && !plan.times->steps.is_regular();
  if (has_gaps && !plan.times->steps.has_no_frequency() && chooses(true)) return;
  if (has_gaps) plan.times->fits_windows = false;
  if (chooses(false)) return;
  plan.window = 1;
  plan.has_validation = false;
}

bool begins_with_missing(const Plan& plan, const CsvTable& table) {
  const auto times = plan.times ? times_of(table, *plan.time) : std::vector<int64_t>();
  return std::ranges::any_of(rows_by_series(table, name_of(plan.group)), [&](const SeriesRows& series) {
    const int64_t first = times.empty() ? 0 : places_in_order(at_rows(times, series.rows)).front();
    return std::ranges::any_of(plan.features, [&](const ColumnInspection* feature) {
      return table.is_missing(series.rows[static_cast<size_t>(first)], feature->place);
    });
  });
}

// Returns the target of each series in the order of time, each time once.
std::vector<SeriesValues> values_of_series(const Plan& plan, const CsvTable& table) {
  const std::vector<int64_t> times = plan.times ? times_of(table, *plan.time) : std::vector<int64_t>();
  std::vector<SeriesValues> all;
  for (const SeriesRows& series : rows_by_series(table, name_of(plan.group))) {
    SeriesValues& own = all.emplace_back();
    const std::vector<int64_t> own_times = at_rows(times, series.rows);
    const std::vector<int64_t> places =
        times.empty() ? first_rows(std::ssize(series.rows)) : places_in_order(own_times);
    for (const int64_t place : places) {
      const auto at = static_cast<size_t>(place);
      if (!times.empty() && !own.times.empty() && own.times.back() == own_times[at]) continue;
      if (!times.empty()) own.times.push_back(own_times[at]);
      const std::string_view cell = table.value(series.rows[at], plan.target->place);
      own.values.push_back(number_of(cell, table.options()).value_or(std::numeric_limits<double>::quiet_NaN()));
    }
  }
  return all;
}

// A change from one season before needs a window with the season. A series with gaps keeps the window that fits them.
void make_room_for_season(Plan& plan, const CsvTable& table) {
  constexpr int64_t kSeasonsOfRows = 10;
  if (!plan.advice.is_season_strong() || *plan.advice.season <= plan.window) return;
  const bool is_long = plan.group == nullptr && table.num_rows() >= kSeasonsOfRows * *plan.advice.season;
  if (is_long && plan.times && plan.times->steps.is_regular()) plan.window = *plan.advice.season;
}

// Chooses the window. A series with a column of times is examined as training examines it.
void plan_series(Plan& plan, const CsvTable& table) {
  plan.names_features = true;
  if (plan.time != nullptr && plan.time->all_times() != nullptr)
    plan.times = inspect_times(table, *plan.time, plan.group);
  plan.has_unreadable_times = plan.time != nullptr && plan.time->times && !plan.times;
  plan_window(plan, table);
  plan.advice = advise_on_series(values_of_series(plan, table));
  make_room_for_season(plan, table);
  plan.begins_with_missing = begins_with_missing(plan, table);
}

// For numbers in the order of time, all columns that may be inputs are inputs, including the target.
std::optional<Plan> make_series_plan(const CsvTable& table, const std::vector<ColumnInspection>& columns) {
  Plan plan;
  plan.time = find_time(columns);
  const auto last = std::ranges::find_if(columns.rbegin(), columns.rend(),
                                         [](const ColumnInspection& column) { return !column.is_nameless_and_empty; });
  if (plan.time == nullptr || (last != columns.rend() && last->is_label())) return std::nullopt;
  const std::vector<int64_t> times = times_of(table, *plan.time);
  if (has_repeated(times)) plan.group = choose_group(table, columns, *plan.time, times);
  plan.target = choose_series_target(columns, plan.group);
  if (plan.target == nullptr) return std::nullopt;
  for (const ColumnInspection& column : columns)
    if (column.may_be_input() && &column != plan.group && &column != plan.time) plan.features.push_back(&column);
  plan_series(plan, table);
  return plan;
}

Plan make_class_first_plan(const std::vector<ColumnInspection>& columns) {
  Plan plan{.target = &columns[0], .features = {}, .is_classification = true, .has_padding = true};
  for (const ColumnInspection& column : std::span(columns).subspan(1)) plan.features.push_back(&column);
  return plan;
}

}  // namespace

Plan make_plan(const std::string& path, const CsvTable& table, const std::vector<ColumnInspection>& columns) {
  if (has_class_first(path, table, columns)) return make_class_first_plan(columns);
  if (const auto series = make_series_plan(table, columns)) return *series;
  Plan plan;
  plan.target = choose_target(columns);
  if (plan.target == nullptr) return plan;
  plan.is_classification = plan.target->is_label();
  for (const ColumnInspection& column : columns)
    if (&column != plan.target && column.may_be_input()) plan.features.push_back(&column);
  plan.names_features = plan.features.size() + 1 < columns.size();
  if (!plan.features.empty() || !plan.target->is_numeric()) return plan;
  plan.features = {plan.target};
  plan.is_classification = false;
  plan.time = find_time(columns);
  plan_series(plan, table);
  return plan;
}

namespace {

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
  if (plan.window == 0) return "  missing: drop        # the rows that lack a value; or mean, zero";
  return plan.begins_with_missing ? "  missing: drop        # each window that lacks a value; or mean, zero"
                                  : "  missing: previous    # the value of the row before; or drop, mean, zero";
}

// The words that still mean a missing value if those of the target are classes.
std::string words_line(const Plan& plan) {
  std::vector<std::string> words;
  for (const ColumnInspection* feature : plan.features)
    for (const auto& [word, count] : feature->missing_words) add_once(words, yaml_text(word));
  const std::vector<std::string> classes = plan.words_as_classes();
  return fmt::format("  missing_words: [{}]  # {} is a class here; without this line it is a missing value",
                     join(words, ", "), in_quotes(classes.front()));
}

void add_time(std::vector<std::string>& lines, const Plan& plan) {
  if (plan.has_unreadable_times)
    lines.insert(lines.end(), {"  unsorted: ignore     # a cell of the times is not a time", "  duplicates: ignore",
                               "  gaps: ignore"});
  if (!plan.times) return;
  const TimeSteps& steps = plan.times->steps;
  lines.push_back("  time: " + yaml_text(plan.time->name));
  if (steps.num_backwards > 0)
    lines.push_back(fmt::format("  unsorted: sort       # {}", steps.is_newest_first
                                                                   ? "the file begins with the newest rows"
                                                                   : "the rows are not in the order of time"));
  if (steps.num_repeated > 0)
    lines.push_back(
        fmt::format("  duplicates: first    # {} the time of another",
                    steps.num_repeated == 1 ? "1 row has" : format_count(steps.num_repeated) + " rows have"));
  if (steps.is_regular()) return;
  const bool is_grid = plan.advice.step.has_value() && plan.times->fits_windows;
  if (is_grid) {
    lines.push_back(fmt::format("  frequency: {:<9} # the times are whole numbers of this step apart",
                                step_text(*plan.advice.step)));
    lines.emplace_back(
        "  gaps: split          # no window crosses a hole; or fill with rows, treated by missing: previous");
  } else if (plan.times->fits_windows)
    lines.push_back(fmt::format("  gaps: split          # no window crosses a step that is not {}",
                                duration_text(steps.usual_step)));
  else
    lines.emplace_back("  gaps: ignore         # the steps in time differ too much");
}

// Returns "" if one scale fits all series.
std::string_view line_on_scale(SeriesDifference difference) {
  switch (difference) {
    case SeriesDifference::kNone:
      return "";
    case SeriesDifference::kScale:
      return "  scale_by: series     # one series varies more than ten times as much as another";
    case SeriesDifference::kLevel:
      return "  scale_by: series     # the means of two series are more than three deviations apart";
  }
  fail_invariant("a listed difference", __FILE__, __LINE__, "line_on_scale does not know the difference");
}

// Says which forecast without a model is strong, and begins the model with it.
void add_advice(std::vector<std::string>& lines, const Plan& plan) {
  const SeriesAdvice& advice = plan.advice;
  if (plan.window == 0 || plan.is_classification || !plan.times) return;
  if (advice.season)
    lines.push_back(
        fmt::format("  season: {:<12} # the value so many rows before has an error of {:.0f} % of the deviation",
                    *advice.season, 100 * advice.error_of_season));
  if (advice.is_season_strong() && *advice.season <= plan.window)
    lines.emplace_back("  target_as: seasonal_change  # begins with that value");
  else if (advice.is_last_strong())
    lines.push_back(
        fmt::format("  target_as: change    # begins with the last value, whose error is {:.0f} % of the "
                    "deviation",
                    100 * advice.error_of_last));
  const std::string_view line = plan.group == nullptr ? "" : line_on_scale(advice.difference);
  if (!line.empty()) lines.emplace_back(line);
}

}  // namespace

std::vector<std::string> yaml_for(const std::string& path, const CsvTable& table, const Plan& plan) {
  const Task task = plan.is_classification ? Task::kClassification : Task::kRegression;
  std::vector<std::string> lines = {"data:", "  source: csv"};
  std::ranges::copy(yaml_of_files(path), std::back_inserter(lines));
  if (table.options().delimiter != ',') lines.push_back("  delimiter: " + yaml_text({table.options().delimiter}));
  if (table.options().decimal != '.') lines.push_back("  decimal: " + yaml_text({table.options().decimal}));
  if (table.options().header == CsvHeader::kAbsent) lines.emplace_back("  header: false");
  if (plan.names_features) add_features(lines, plan);
  lines.push_back("  target: [" + yaml_text(plan.target->name) + "]");
  lines.push_back(fmt::format("  task: {}", config::name_of(task)));
  if (plan.window > 0)
    lines.push_back(
        fmt::format("  window: {:<12} # rows that make one sample; the target is the row after them", plan.window));
  if (plan.group != nullptr) {
    lines.push_back("  group: " + yaml_text(plan.group->name) + "  # the series of a row");
    lines.push_back(fmt::format("  id: [{}, {}]", yaml_text(plan.group->name), yaml_text(plan.time->name)));
  }
  add_time(lines, plan);
  add_advice(lines, plan);
  if (plan.valid_fraction > 0)
    lines.push_back(fmt::format("  valid_fraction: {:<4} # the series are short", plan.valid_fraction));
  if (!plan.has_validation) lines.emplace_back("  num_valid: 0         # the rows are too few for validation");
  if (!plan.words_as_classes().empty()) lines.push_back(words_line(plan));
  if (plan.has_missing()) lines.emplace_back(missing_line(plan));
  std::ranges::copy(yaml_of_model(task), std::back_inserter(lines));
  return lines;
}

}  // namespace rnnlab
