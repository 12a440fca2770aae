// SPDX-License-Identifier: Apache-2.0
#include "data/csv_dates.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "data/readers/rows.h"
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
  return after_end(series, row - series.rows.end + 1 - std::ssize(series.future_rows));
}

std::string RowDates::of_row(int64_t row) {
  const int64_t own = part_.table_row(row);
  if (own != kNoRow) return std::string(part_.table.value(own, place_));
  return column() ? column()->form.text(part_.times[static_cast<size_t>(row)]) : "";
}

std::string RowDates::after_end(const CsvSeries& series, int64_t count) {
  auto end = ends_.find(series.rows.begin);
  if (end == ends_.end()) end = ends_.emplace(series.rows.begin, end_of(series)).first;
  return end->second ? column()->form.text(end->second->grid.after(end->second->last, count)) : "";
}

// The form is that of the last rows, because the zone of a country changes with its clocks.
const std::optional<RowDates::Column>& RowDates::column() {
  if (column_) return *column_;
  column_.emplace();
  auto found = times_of_column(part_.table, place_, part_.order);
  if (!found || found->wrong_row) return *column_;
  constexpr int64_t kRows = 12;
  std::vector<std::string_view> cells;
  const int64_t num_rows = part_.table.num_rows(), first = std::max<int64_t>(0, num_rows - kRows);
  for (int64_t row = first; row < num_rows; ++row) cells.push_back(part_.table.value(row, place_));
  const auto form = TimeForm::of(cells, std::span(found->times).subspan(static_cast<size_t>(first)));
  if (form) *column_ = Column{std::move(found->times), *form};
  return *column_;
}

std::optional<RowDates::End> RowDates::end_of(const CsvSeries& series) {
  if (!column()) return std::nullopt;
  std::vector<int64_t> rows;
  for (int64_t row = series.rows.begin; row < series.rows.end; ++row)
    if (const int64_t own = part_.table_row(row); own != kNoRow) rows.push_back(own);
  rows.insert(rows.end(), series.future_rows.begin(), series.future_rows.end());
  const std::vector<int64_t> times = at_rows(column()->times, rows);
  if (times.empty() || std::ranges::adjacent_find(times, std::greater_equal()) != times.end()) return std::nullopt;
  const auto step = settings_.frequency.empty() ? usual_time_step(times) : parse_time_step(settings_.frequency);
  return step ? std::optional(End{TimeGrid(*step, times), times.back()}) : std::nullopt;
}

}  // namespace rnnlab
