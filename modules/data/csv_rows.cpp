// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/csv_dates.h"
#include "data/csv_part.h"

namespace rnnlab {
namespace {

std::vector<int64_t> columns_of(const CsvTable& table, const std::vector<std::string>& names) {
  std::vector<int64_t> columns;
  for (const std::string& name : names) columns.push_back(table.column_index(name));
  return columns;
}

// Returns the cells of these columns; empty texts after the last row.
std::vector<std::string> cells_of(const CsvTable& table, int64_t row, const std::vector<int64_t>& columns) {
  std::vector<std::string> cells;
  for (const int64_t column : columns) cells.emplace_back(row < table.num_rows() ? table.cell(row, column) : "");
  return cells;
}

// The rows of a window are consecutive in the part. Returns the row of a horizon.
int64_t predicted_row(const Windows& windows, size_t sample, int64_t horizon) {
  const int64_t first = windows.first[sample];
  return windows.window == 0 ? first : first + windows.window - 1 + horizon;
}

std::string missing_features(const CsvPart& part, int64_t row) {
  const auto is_missing_in = [row](const NumericColumn& column) {
    return std::isnan(column.values[static_cast<size_t>(row)]);
  };
  const auto first = std::ranges::find_if(part.features, is_missing_in);
  RNNLAB_INVARIANT(first != part.features.end(), "a row without a sample lacks a feature");
  const auto others = std::count_if(std::next(first), part.features.end(), is_missing_in);
  return fmt::format("missing value in column {}{}", in_quotes(first->name),
                     others == 0 ? "" : fmt::format(" and {}", counted(others, "other")));
}

constexpr int64_t kFutureRow = -2;  // CsvSeries::future_rows has the row
constexpr int64_t kBeyondGap = -3;  // CsvSeries::rows_beyond_gap has it

// Returns why no sample is for a row of the part; kNoRow is one that data.duplicates has left out.
std::string why_not_predicted(const CsvPart& part, int64_t row, const DataSettings& settings) {
  if (row == kNoRow)
    return fmt::format("another row has the same time (data.duplicates: {})", config::name_of(settings.duplicates));
  if (row == kBeyondGap)
    return "it has values at most in data.known, and follows a gap in time after the end of its series";
  if (row == kFutureRow)
    return fmt::format("it has values at most in data.known, and no window ends {} before it (data.horizon)",
                       counted(settings.horizon.front(), "row"));
  if (settings.window == 0 || has_target_per_step(settings)) return missing_features(part, row);
  const int64_t first = row - settings.horizon.front() - settings.window + 1;
  const CsvSeries& series = part.series_of(row);
  const int64_t last = row - settings.horizon.front() + settings.horizon.back();
  if (first >= series.rows.begin && part.has_break(first, std::min(last, series.rows.end - 1)))
    return "a gap in time in the rows of its window (data.gaps: split)";
  if (first >= series.rows.begin && !series.is_known_until(last))
    return fmt::format("{} for the last row of its forecast (data.horizon {})",
                       part.known.empty() ? "the times of the file have no usual step, so that there is no date"
                                          : "the file has no data.known",
                       settings.horizon.back());
  if (first >= series.rows.begin) return "missing value in the rows of its window";
  return fmt::format("no full window before it (data.window {}, data.horizon {})", settings.window,
                     settings.horizon.front());
}

// Returns the row of the part for each row of the table, or kFutureRow, kBeyondGap or kNoRow.
std::vector<int64_t> rows_of_part(const CsvPart& part) {
  std::vector<int64_t> rows(static_cast<size_t>(part.table.num_rows()), kNoRow);
  for (const CsvSeries& series : part.series) {
    for (const int64_t row : series.future_rows) rows[static_cast<size_t>(row)] = kFutureRow;
    for (const int64_t row : series.rows_beyond_gap) rows[static_cast<size_t>(row)] = kBeyondGap;
  }
  for (int64_t row = 0; row < part.num_rows(); ++row)
    if (const int64_t own = part.table_row(row); own != kNoRow) rows[static_cast<size_t>(own)] = row;
  return rows;
}

// Returns the number of the row of the file, from 1, that this row of the part stands for. A row after the end of its
// series is one after the end of the file, or has the number 0 with data.group, as a row that is inserted has.
int64_t number_in_file(const CsvPart& part, const CsvSeries& series, int64_t row, const DataSettings& settings) {
  if (row < series.rows.end) return part.table_row(row) + 1;
  const auto after_end = static_cast<size_t>(row - series.rows.end);
  if (after_end < series.future_rows.size()) return series.future_rows[after_end] + 1;
  return settings.group.empty() ? part.table.num_rows() + row - series.rows.end + 1 : 0;
}

// Names the rows that are forecast, each once.
class Forecasts {
 public:
  Forecasts(const CsvPart& part, const DataSettings& settings)
      : part_(part), settings_(settings), ids_(columns_of(part.table, settings.id)), dates_(part, settings) {}

  // Returns the place of the row in all().
  size_t place_of(const CsvSeries& series, int64_t row) {
    const auto [found, is_new] = places_.emplace(std::pair(series.rows.begin, row), all_.size());
    if (is_new) all_.push_back(named(series, row));
    return found->second;
  }

  ForecastRow named(const CsvSeries& series, int64_t row) {
    ForecastRow result{
        .number = number_in_file(part_, series, row, settings_), .id = {}, .time = dates_.of(series, row)};
    if (result.number > 0 && result.number <= part_.table.num_rows()) {
      result.id = cells_of(part_.table, result.number - 1, ids_);
      return result;
    }
    for (const std::string& name : settings_.id)
      result.id.push_back(name == settings_.group ? series.name : name == dates_.column_name() ? result.time : "");
    return result;
  }

  // Returns the row of a window's first forecast, or one that has a prediction of its own.
  FileRow file_row(const CsvSeries& series, int64_t row) {
    ForecastRow own = named(series, row);
    return {.number = own.number, .id = std::move(own.id), .sample = {}, .reason = ""};
  }

  FileRows result() && {
    return {.id_names = settings_.id, .rows = {}, .time_name = dates_.column_name(), .forecasts = std::move(all_)};
  }

 private:
  const CsvPart& part_;
  const DataSettings& settings_;
  std::vector<int64_t> ids_;
  RowDates dates_;
  std::map<std::pair<int64_t, int64_t>, size_t> places_;  // by the first row of the series, and the row
  std::vector<ForecastRow> all_;
};

}  // namespace

FileRows rows_of_samples(const CsvPart& part, const Windows& windows, const DataSettings& settings) {
  Forecasts forecasts(part, settings);
  std::vector<FileRow> rows;
  if (windows.has_target_per_row) {
    for (const int64_t row : rows_of(windows)) {
      rows.push_back(forecasts.file_row(part.series_of(row), row));
      rows.back().sample = std::ssize(rows) - 1;
    }
  }
  for (size_t sample = 0; !windows.has_target_per_row && sample < windows.first.size(); ++sample) {
    const CsvSeries& series = part.series_of(windows.first[sample]);
    const auto row_of = [&](int64_t horizon) { return predicted_row(windows, sample, horizon); };
    FileRow& row = rows.emplace_back(forecasts.file_row(series, row_of(settings.horizon.front())));
    row.sample = static_cast<int64_t>(sample);
    if (windows.window == 0) continue;
    for (const int64_t horizon : settings.horizon) row.forecasts.push_back(forecasts.place_of(series, row_of(horizon)));
  }
  FileRows result = std::move(forecasts).result();
  result.rows = std::move(rows);
  return result;
}

FileRows rows_of_file(const CsvPart& part, const Windows& windows, const DataSettings& settings) {
  FileRows predicted = rows_of_samples(part, windows, settings);
  std::ranges::stable_sort(predicted.rows, {},
                           [](const FileRow& row) { return std::pair(row.number == 0, row.number); });
  const std::vector<int64_t> ids = columns_of(part.table, settings.id);
  const std::vector<int64_t> part_rows = rows_of_part(part);
  FileRows result = predicted;
  result.rows.clear();
  auto next = predicted.rows.begin();
  for (int64_t row = 0; row < part.table.num_rows(); ++row) {
    const bool is_predicted = next != predicted.rows.end() && next->number == row + 1;
    if (is_predicted)
      result.rows.push_back(std::move(*next++));
    else
      result.rows.push_back({.number = row + 1,
                             .id = cells_of(part.table, row, ids),
                             .sample = std::nullopt,
                             .reason = why_not_predicted(part, part_rows[static_cast<size_t>(row)], settings)});
  }
  std::move(next, predicted.rows.end(), std::back_inserter(result.rows));
  return result;
}

}  // namespace rnnlab
