// SPDX-License-Identifier: Apache-2.0
#include "data/csv_dates.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "data/readers/rows.h"
#include "data/readers/time_units.h"
#include "data/readers/times.h"

namespace rnnlab {

RowDates::RowDates(const CsvPart& part, const DataSettings& settings) : part_(part), settings_(settings) {
  const std::vector<std::string>& names = part.table.column_names();
  if (!part.time || std::ranges::find(names, *part.time) == names.end()) return;
  name_ = *part.time;
  place_ = part.table.column_index(name_);
}

std::string RowDates::of(const CsvSeries& series, int64_t row) {
  if (place_ < 0) return "";
  if (row < series.rows.end) return of_row(row);
  const auto after = static_cast<size_t>(row - series.rows.end);
  if (after < series.future_rows.size()) return std::string(part_.table.value(series.future_rows[after], place_));
  const auto time = time_after_end(series, row);
  return time ? column()->form.text(*time) : "";
}

std::string RowDates::of_row(int64_t row) {
  const int64_t own = part_.table_row(row);
  if (own != kNoRow) return std::string(part_.table.value(own, place_));
  return column() ? column()->form.text(part_.times[static_cast<size_t>(row)]) : "";
}

std::optional<int64_t> RowDates::time_after_end(const CsvSeries& series, int64_t row) {
  if (place_ < 0 || !column()) return std::nullopt;
  const int64_t after = row - series.rows.end, num_given = std::ssize(series.future_rows);
  if (after < num_given) return column()->times[static_cast<size_t>(series.future_rows[static_cast<size_t>(after)])];
  auto end = ends_.find(series.rows.begin);
  if (end == ends_.end()) end = ends_.emplace(series.rows.begin, end_of(series)).first;
  if (!end->second) return std::nullopt;
  return end->second->grid.after(end->second->last, after + 1 - num_given) - column()->form.ahead_of_utc();
}

// Returns the form of the rows with the latest times. Rows of several series may have one time, which tells nothing.
std::optional<TimeForm> RowDates::form_of_last(const std::vector<int64_t>& times, size_t most) const {
  std::map<int64_t, std::string_view> latest;
  for (size_t row = 0; row < times.size(); ++row) {
    latest.try_emplace(times[row], part_.table.value(static_cast<int64_t>(row), place_));
    if (latest.size() > most) latest.erase(latest.begin());
  }
  std::vector<std::string_view> cells;
  std::vector<int64_t> their_times;
  for (const auto& [time, cell] : latest) {
    their_times.push_back(time);
    cells.push_back(cell);
  }
  return TimeForm::of(cells, their_times, part_.order);
}

// Many rows tell a form such as 2026-1-31 from others. If none writes them, as where clocks change, the last ones
// count.
const std::optional<RowDates::Column>& RowDates::column() {
  if (column_) return *column_;
  column_.emplace();
  auto found = times_of_column(part_.table, place_, part_.order);
  if (!found || found->wrong_row) return *column_;
  for (const size_t most : {400, 12, 3}) {
    const auto form = form_of_last(found->times, most);
    if (!form) continue;
    *column_ = Column{std::move(found->times), *form};
    return *column_;
  }
  return *column_;
}

// Returns the times of the series' own rows and of those after its end, on the clock of the last rows.
std::vector<int64_t> RowDates::local_times_of(const CsvSeries& series) {
  std::vector<int64_t> rows;
  for (int64_t row = series.rows.begin; row < series.rows.end; ++row)
    if (const int64_t own = part_.table_row(row); own != kNoRow) rows.push_back(own);
  rows.insert(rows.end(), series.future_rows.begin(), series.future_rows.end());
  std::vector<int64_t> times = at_rows(column()->times, rows);
  for (int64_t& time : times) time += column()->form.ahead_of_utc();
  return times;
}

// A series of less than a week does not show whether it has weekends, so the longest series of the file tells.
std::optional<TimeStep> RowDates::step_of(const std::vector<int64_t>& times) {
  if (!settings_.frequency.empty()) return parse_time_step(settings_.frequency);
  if (times.back() - times.front() >= 7 * kDay) return usual_time_step(times);
  const auto num_rows = [](const CsvSeries& series) { return series.rows.end - series.rows.begin; };
  const CsvSeries& longest = *std::ranges::max_element(part_.series, {}, num_rows);
  const auto of_longest = usual_time_step(local_times_of(longest));
  return of_longest ? of_longest : usual_time_step(times);
}

std::optional<RowDates::End> RowDates::end_of(const CsvSeries& series) {
  if (!column()) return std::nullopt;
  const std::vector<int64_t> times = local_times_of(series);
  if (times.empty() || std::ranges::adjacent_find(times, std::greater_equal()) != times.end()) return std::nullopt;
  const auto step = step_of(times);
  return step ? std::optional(End{TimeGrid(*step, times), times.back()}) : std::nullopt;
}

}  // namespace rnnlab
