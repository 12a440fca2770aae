// SPDX-License-Identifier: Apache-2.0
#include "data/csv_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/rows.h"
#include "data/readers/time_grid.h"

namespace rnnlab {
namespace {

// Returns the columns that are inputs, targets or the names of series.
std::set<std::string> used_columns(const DataSettings& settings) {
  std::set<std::string> names = {settings.group};
  for (const auto* some : {&settings.features, &settings.target, &settings.categories, &settings.known})
    names.insert(some->begin(), some->end());
  return names;
}

std::vector<std::string> candidates(const CsvTable& table, const DataSettings& settings) {
  std::set<std::string> taken = used_columns(settings);
  std::vector<std::string> names;
  for (const auto* some : {&settings.id, &table.column_names()})
    for (const std::string& name : *some)
      if (taken.insert(name).second) names.push_back(name);
  return names;
}

// A usual word for a missing value may be a name, such as NA for Namibia.
std::string hint_on_name(std::string_view cell) {
  return cell.empty() ? "" : fmt::format(", or take {} out of data.missing_words if it is a name", in_quotes(cell));
}

}  // namespace

std::vector<SeriesRows> rows_by_series(const CsvTable& table, const std::string& group) {
  if (group.empty()) return {{"", first_rows(table.num_rows())}};
  std::vector<SeriesRows> all;
  std::unordered_map<std::string_view, size_t> places;
  const int64_t column = table.column_index(group);
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const std::string_view name = table.value(row, column);
    if (is_missing(name, table.options()))
      table.fail_at(row, column, "the name of the series is missing; fill it or remove the row" + hint_on_name(name));
    const auto [place, is_new] = places.emplace(name, all.size());
    if (is_new) all.push_back({std::string(name), {}});
    all[place->second].rows.push_back(row);
  }
  return all;
}

std::string find_time_column(const CsvTable& table, const DataSettings& settings) {
  if (!settings.time.empty()) return settings.time;
  if (!uses_order(settings)) return "";
  std::string year;  // A column of years is taken only if there is no other, and if they are those of single rows.
  for (const std::string& name : candidates(table, settings)) {
    const int64_t column = table.column_index(name);
    const auto found = times_of_column(table, column);
    if (!found) continue;
    if (found->are_hardly_inputs || !number_of(table.value(0, column), table.options())) return name;
    if (year.empty() && (!settings.group.empty() || !has_repeated(found->times))) year = name;
  }
  return year;
}

namespace {

std::string of_series(const SeriesRows& series) {
  return series.name.empty() ? "" : " of the series " + in_quotes(series.name);
}

// What was ignored, sorted or left out in all series together.
struct Counts {
  int64_t num_unsorted_series = 0, num_repeated = 0, num_uneven = 0, num_newest_first = 0, num_inserted = 0;
};

// Orders the rows of each series, and counts what it does.
class Treatment {
 public:
  Treatment(const CsvTable& table, const std::string& column, std::optional<DateOrder> order,
            const DataSettings& settings)
      : table_(table), column_(table.column_index(column)), settings_(settings), times_(read(order)) {}

  TimeTreatment apply(std::vector<SeriesRows>& all) {
    for (SeriesRows& series : all) {
      treat_order(series);
      if (!has_series(settings_)) continue;
      treat_duplicates(series);
      treat_gaps(series);
    }
    add_notes(all.size() > 1);
    return std::move(result_);
  }

 private:
  std::vector<int64_t> read(std::optional<DateOrder> order) {
    auto found = times_of_column(table_, column_, order);
    const int64_t wrong = found ? found->wrong_row.value_or(-1) : 0;
    if (wrong < 0) {
      result_.order = found->order;
      return std::move(found->times);
    }
    fail(wrong, fmt::format("got {}, expected a time{}: correct the cell, {}or set data.unsorted, data.duplicates "
                            "and data.gaps to ignore",
                            cell(wrong), wrong > 0 ? " such as " + cell(0) : "",
                            settings_.time.empty() ? "name the right column in data.time, " : ""));
  }

  [[noreturn]] void fail(int64_t row, const std::string& message) const { table_.fail_at(row, column_, message); }
  std::string cell(int64_t row) const { return in_quotes(table_.value(row, column_)); }
  int64_t time_of(int64_t row) const { return times_[static_cast<size_t>(row)]; }

  void treat_order(SeriesRows& series) {
    const TimeSteps steps = examine_times(at_rows(times_, series.rows));
    if (steps.is_in_order()) return;
    if (settings_.unsorted == Unsorted::kError) refuse_order(series, steps);
    ++counts_.num_unsorted_series;
    counts_.num_newest_first += steps.is_newest_first;
    if (settings_.unsorted == Unsorted::kSort)
      std::ranges::stable_sort(series.rows, {}, [&](int64_t row) { return time_of(row); });
  }

  [[noreturn]] void refuse_order(const SeriesRows& series, const TimeSteps& steps) const {
    const auto place = static_cast<size_t>(*steps.first_backwards);
    const int64_t row = series.rows[place], above = series.rows[place - 1];
    fail(row,
         fmt::format("the time {} is before that of the row above it ({}): the rows{} {}, but a series is read from "
                     "its first row to its last; set data.unsorted: sort, or ignore to keep this order",
                     cell(row), cell(above), series.name.empty() ? " of the file" : of_series(series),
                     steps.is_newest_first ? "begin with the newest"
                                           : fmt::format("go back in time {}", counted(steps.num_backwards, "time"))));
  }

  void treat_duplicates(SeriesRows& series) {
    const TimeSteps steps = examine_times(at_rows(times_, series.rows));
    if (steps.num_repeated == 0) return;
    if (settings_.duplicates == Duplicates::kError) refuse_duplicates(series, steps);
    counts_.num_repeated += steps.num_repeated;
    if (settings_.duplicates == Duplicates::kIgnore) return;
    if (!steps.is_in_order())
      throw_error(ExitCode::kData, "{}: data.duplicates: {} needs rows in the order of time: set data.unsorted: sort",
                  table_.path(), config::name_of(settings_.duplicates));
    keep_one_of_each_time(series.rows);
  }

  [[noreturn]] void refuse_duplicates(const SeriesRows& series, const TimeSteps& steps) const {
    const int64_t row = series.rows[static_cast<size_t>(*steps.first_repeated)];
    const std::string_view several =
        settings_.group.empty() ? "; if the rows belong to several series, name their column in data.group" : "";
    fail(row, fmt::format("the time {} is in another row{} too ({} in all): set data.duplicates: first or last to "
                          "keep one row of each time, or ignore to keep all{}",
                          cell(row), of_series(series), counted(steps.num_repeated, "such row"), several));
  }

  // The rows are sorted, those of equal times in the order of the file.
  void keep_one_of_each_time(std::vector<int64_t>& rows) const {
    std::vector<int64_t> kept;
    for (const int64_t row : rows) {
      if (kept.empty() || time_of(row) != time_of(kept.back()))
        kept.push_back(row);
      else if (settings_.duplicates == Duplicates::kLast)
        kept.back() = row;
    }
    rows = std::move(kept);
  }

  void treat_gaps(SeriesRows& series) {
    if (!settings_.frequency.empty() || inserts_rows(settings_)) return put_on_grid(series);
    const std::vector<int64_t> times = at_rows(times_, series.rows);
    const TimeSteps steps = examine_times(times);
    if (steps.is_regular()) return;
    if (settings_.gaps == Gaps::kError) refuse_gaps(series, steps);
    counts_.num_uneven += steps.num_gaps + steps.num_short;
    if (settings_.gaps == Gaps::kIgnore) return;
    const Irregular uneven = irregular_steps(times);
    for (size_t i = 0; i < times.size(); ++i)
      if (uneven.is_long[i] || uneven.is_short[i]) result_.rows_after_gaps.push_back(series.rows[i]);
  }

  // The rows ascend, each with its own time.
  void require_ascending(const SeriesRows& series, const std::vector<int64_t>& times) const {
    const auto found = std::ranges::adjacent_find(times, std::greater_equal());
    if (found == times.end()) return;
    const bool is_repeated = *found == *std::next(found);
    fail(series.rows[static_cast<size_t>(std::next(found) - times.begin())],
         fmt::format("{} needs one row of each time, in the order of time: set data.{}", grid_setting(),
                     is_repeated ? "duplicates: first or last" : "unsorted: sort"));
  }

  std::string grid_setting() const {
    return settings_.frequency.empty() ? fmt::format("data.gaps: {}", config::name_of(settings_.gaps))
                                       : "data.frequency: " + settings_.frequency;
  }

  std::optional<TimeStep> step_of(const std::vector<int64_t>& times) const {
    return settings_.frequency.empty() ? median_time_step(times) : parse_time_step(settings_.frequency);
  }

  // Treats steps that are longer than one step of the grid, and refuses rows that are not on it.
  void put_on_grid(SeriesRows& series) {
    std::vector<int64_t> times = at_rows(times_, series.rows);
    require_ascending(series, times);
    if (const auto step = step_of(times)) {
      const TimeGrid grid(*step, times);
      std::vector<int64_t> rows = {series.rows.front()}, all_times = {times.front()};
      for (size_t i = 1; i < times.size(); ++i) {
        const int64_t count = steps_to(series, grid, i, times);
        if (count > 1) treat_hole(series, grid, i, count, rows, all_times);
        rows.push_back(series.rows[i]);
        all_times.push_back(times[i]);
      }
      series.rows = std::move(rows);
      times = std::move(all_times);
    }
    if (inserts_rows(settings_)) series.times = std::move(times);
  }

  int64_t steps_to(const SeriesRows& series, const TimeGrid& grid, size_t place,
                   const std::vector<int64_t>& times) const {
    const auto count = grid.steps_between(times[place - 1], times[place]);
    if (count) return *count;
    const int64_t row = series.rows[place];
    fail(row, fmt::format("{} is {} after {}{}, which is not a whole number of steps of {}: correct the time, or {}",
                          cell(row), duration_text(times[place] - times[place - 1]), cell(series.rows[place - 1]),
                          of_series(series), step_text(grid.step()),
                          settings_.frequency.empty() ? "set data.gaps: split, or state the step in data.frequency"
                                                      : "state the right data.frequency"));
  }

  // `count` steps lead to the row at this place; `rows` and `times` are those before it.
  void treat_hole(const SeriesRows& series, const TimeGrid& grid, size_t place, int64_t count,
                  std::vector<int64_t>& rows, std::vector<int64_t>& times) {
    const int64_t row = series.rows[place];
    if (settings_.gaps == Gaps::kError) refuse_hole(series, place, count, grid);
    if (settings_.gaps == Gaps::kSplit) {
      ++counts_.num_uneven;
      result_.rows_after_gaps.push_back(row);
      return;
    }
    constexpr int64_t kMostPerRow = 20, kAlways = 1000;
    counts_.num_inserted += count - 1;
    if (counts_.num_inserted > kAlways + kMostPerRow * table_.num_rows())
      fail(row, fmt::format("data.gaps: {} would insert {} up to this row, which are most of the series: correct the "
                            "time, or set data.gaps: split",
                            config::name_of(settings_.gaps), counted(counts_.num_inserted, "row")));
    const int64_t before = times.back();
    for (int64_t i = 1; i < count; ++i) {
      rows.push_back(kNoRow);
      times.push_back(grid.after(before, i));
    }
  }

  [[noreturn]] void refuse_hole(const SeriesRows& series, size_t place, int64_t count, const TimeGrid& grid) const {
    const int64_t row = series.rows[place];
    fail(row, fmt::format("{} between {} and {}{}, by the step of {}: set data.gaps: split, so that no window crosses "
                          "the hole, or fill, which inserts them",
                          count == 2 ? "1 row is missing" : format_count(count - 1) + " rows are missing",
                          cell(series.rows[place - 1]), cell(row), of_series(series), step_text(grid.step())));
  }

  [[noreturn]] void refuse_gaps(const SeriesRows& series, const TimeSteps& steps) const {
    const std::vector<int64_t> places = places_in_order(at_rows(times_, series.rows));
    const auto after = std::ranges::find(places, steps.first_gap ? *steps.first_gap : *steps.first_short);
    const int64_t row = series.rows[static_cast<size_t>(*after)],
                  before = series.rows[static_cast<size_t>(*std::prev(after))];
    const int64_t num_uneven = steps.num_gaps + steps.num_short;
    fail(row, fmt::format("{} is {} after {}, but the usual step{} is {} ({}): set data.gaps: split, so that no window "
                          "crosses such a step, or ignore",
                          cell(row), duration_text(time_of(row) - time_of(before)), cell(before), of_series(series),
                          duration_text(steps.usual_step),
                          num_uneven == 1 ? "1 step differs" : format_count(num_uneven) + " steps differ"));
  }

  void add_notes(bool are_several) {
    const std::string column = in_quotes(table_.column_name(column_));
    const auto& [num_unsorted, num_repeated, num_uneven, num_newest_first, num_inserted] = counts_;
    if (num_unsorted > 0)
      result_.notes.push_back(fmt::format("the rows{} {} in the order of time ({}); data.unsorted: {}",
                                          are_several ? fmt::format(" of {}", counted(num_unsorted, "series")) : "",
                                          num_newest_first == num_unsorted ? "begin with the newest, not" : "are not",
                                          column, config::name_of(settings_.unsorted)));
    if (num_repeated > 0)
      result_.notes.push_back(fmt::format("{} the time of another row ({}); data.duplicates: {}",
                                          num_repeated == 1 ? "1 row has" : format_count(num_repeated) + " rows have",
                                          column, config::name_of(settings_.duplicates)));
    if (num_uneven > 0)
      result_.notes.push_back(fmt::format("{} in time not the usual one ({}); data.gaps: {}{}",
                                          num_uneven == 1 ? "1 step is" : format_count(num_uneven) + " steps are",
                                          column, config::name_of(settings_.gaps),
                                          settings_.gaps == Gaps::kSplit ? ", so no window crosses it" : ""));
    if (num_inserted > 0)
      result_.notes.push_back(fmt::format("{} inserted where the times have gaps ({}); data.gaps: {}",
                                          num_inserted == 1 ? "1 row is" : format_count(num_inserted) + " rows are",
                                          column, config::name_of(settings_.gaps)));
  }

  const CsvTable& table_;
  int64_t column_;
  const DataSettings& settings_;
  TimeTreatment result_;
  std::vector<int64_t> times_;
  Counts counts_;
};

}  // namespace

std::string setting_that_needs_times(const DataSettings& settings) {
  if (settings.unsorted == Unsorted::kSort) return "data.unsorted: sort";
  if (settings.duplicates == Duplicates::kFirst || settings.duplicates == Duplicates::kLast)
    return fmt::format("data.duplicates: {}", config::name_of(settings.duplicates));
  if (settings.gaps == Gaps::kSplit || inserts_rows(settings))
    return fmt::format("data.gaps: {}", config::name_of(settings.gaps));
  return settings.frequency.empty() ? "" : "data.frequency: " + settings.frequency;
}

bool ignores_times(const DataSettings& settings) {
  return settings.unsorted == Unsorted::kIgnore && settings.duplicates == Duplicates::kIgnore &&
         settings.gaps == Gaps::kIgnore;
}

TimeTreatment order_by_time(const CsvTable& table, const std::string& column, std::optional<DateOrder> order,
                            std::vector<SeriesRows>& series, const DataSettings& settings) {
  if (ignores_times(settings)) return {};
  return Treatment(table, column, order, settings).apply(series);
}

}  // namespace rnnlab
