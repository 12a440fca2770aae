// SPDX-License-Identifier: Apache-2.0
// The windows and sequences of a part, and the rows that they need.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "data/csv_part.h"
#include "data/readers/rows.h"

namespace rnnlab {
namespace {

void append(Windows& all, const Windows& more) {
  all.first.insert(all.first.end(), more.first.begin(), more.first.end());
  all.target.insert(all.target.end(), more.target.begin(), more.target.end());
  all.num_horizons = more.num_horizons;
}

// Returns the rows in which no column has a missing value: all rows if there are no columns.
std::vector<int64_t> rows_with_all(std::span<const NumericColumn> columns, int64_t num_rows) {
  return columns.empty() ? first_rows(num_rows) : complete_rows(columns);
}

// Returns the part of the ascending rows that are in the series.
std::vector<int64_t> rows_in(const CsvSeries& series, const std::vector<int64_t>& rows) {
  return {std::ranges::lower_bound(rows, series.rows.begin), std::ranges::lower_bound(rows, series.rows.end)};
}

// Returns how many windows were left out because they do not meet the condition.
int64_t keep_windows(Windows& windows, const std::function<bool(size_t)>& is_kept) {
  std::vector<int64_t> kept = first_rows(std::ssize(windows.first));
  const auto num_left_out = std::erase_if(kept, [&](int64_t i) { return !is_kept(static_cast<size_t>(i)); });
  windows = selected(windows, kept);
  return static_cast<int64_t>(num_left_out);
}

// Leaves out the windows that have a row of which a feature is missing.
void drop_windows_with_gaps(const CsvPart& part, SeriesWindows& all) {
  const std::vector<int64_t> complete = rows_with_all(part.features, part.num_rows());
  if (std::ssize(complete) == part.num_rows()) return;
  all.num_with_gaps = keep_windows(all.windows, [&](size_t i) {
    const auto first = std::ranges::lower_bound(complete, all.windows.first[i]);
    const auto end = std::lower_bound(first, complete.end(), all.windows.first[i] + all.windows.window);
    return end - first == all.windows.window;
  });
}

// Returns whether a row after the first one of the window, up to its last target, follows a gap. A forecast after the
// end of the series crosses none.
bool crosses_break(const CsvPart& part, const Windows& windows, size_t sample) {
  const auto targets = std::span(windows.target).subspan(sample * windows.num_horizons, windows.num_horizons);
  const int64_t first = windows.first[sample], last_input = first + windows.window - 1;
  const int64_t last = std::max(last_input, std::ranges::max(targets));
  return part.has_break(first, last);
}

void drop_across_breaks(const CsvPart& part, SeriesWindows& all, const std::string& name) {
  if (part.breaks.empty() || all.windows.window == 0) return;
  all.num_across_breaks = keep_windows(all.windows, [&](size_t i) { return !crosses_break(part, all.windows, i); });
  if (all.windows.first.empty())
    throw_error(ExitCode::kData,
                "{}: each window of {} crosses a gap in time, and data.gaps: split leaves none; use a smaller "
                "data.window, or data.gaps: ignore",
                name, counted(all.windows.window, "row"));
}

// Leaves out the windows whose last target is after what is known ahead. A window whose targets are in the file is
// always kept.
void drop_beyond_known(const CsvPart& part, SeriesWindows& all, const DataSettings& settings, const std::string& name) {
  const auto ends = [](const CsvSeries& series) { return series.known_end.has_value(); };
  if (std::ranges::none_of(part.series, ends)) return;
  all.num_beyond_known = keep_windows(all.windows, [&](size_t i) {
    const int64_t last = all.windows.first[i] + settings.window - 1 + settings.horizon.back();
    return part.series_of(all.windows.first[i]).is_known_until(last);
  });
  if (all.windows.first.empty() && part.known.empty())
    throw_error(ExitCode::kData,
                "{}: its times have no usual step, so that the rows to be forecast have no dates, which "
                "data.calendar_ahead needs; set data.frequency, or train with data.calendar_ahead: false",
                name);
  if (all.windows.first.empty())
    throw_error(
        ExitCode::kData,
        "{}: the columns of data.known end before the first forecast (data.horizon {}); append rows with values "
        "only in these columns",
        name, settings.horizon.back());
}

// Returns how many rows of the series before these the inputs may have.
int64_t rows_before(const CsvSeries& series, const std::vector<int64_t>& rows, const DataSettings& settings,
                    LastWindows last) {
  const bool may_reach_back = reaches_back(settings) && last == LastWindows::kWithTargets;
  return may_reach_back && !rows.empty() ? rows.front() - series.rows.begin : 0;
}

Windows windows_of(const CsvSeries& series, const std::vector<int64_t>& rows, const DataSettings& settings,
                   LastWindows last, const std::string& name) {
  if (last == LastWindows::kAll) return all_windows_in(rows, settings.window, settings.horizon, name);
  return windows_in(rows, rows_before(series, rows, settings, last), settings.window, settings.horizon, name);
}

SeriesWindows windows_of_each(const CsvPart& part, const std::vector<int64_t>& rows, const DataSettings& settings,
                              LastWindows last, const std::string& name) {
  SeriesWindows all;
  all.windows.window = settings.window;
  int64_t least_rows = std::numeric_limits<int64_t>::max();
  for (const CsvSeries& series : part.series) {
    const std::vector<int64_t> own = rows_in(series, rows);
    if (own.empty()) continue;
    ++all.num_series;
    const int64_t needed = last == LastWindows::kAll ? settings.window
                                                     : rows_for_one_window(rows_before(series, own, settings, last),
                                                                           settings.window, settings.horizon);
    least_rows = std::min(least_rows, needed);
    if (std::ssize(own) < needed)
      ++all.num_too_short;
    else
      append(all.windows, windows_of(series, own, settings, last, name));
  }
  if (all.num_series == 0)
    throw_error(ExitCode::kData, "{}: no series has rows for it; use a smaller part, or give the series more rows",
                name);
  if (all.windows.first.empty())
    throw_error(ExitCode::kData,
                "{}: none of {} series has the {} that a data.window of {} with a data.horizon of {} needs; {}", name,
                format_count(all.num_series), counted(least_rows, "row"), settings.window, settings.horizon.back(),
                how_to_fit(settings.window, settings.horizon.back()));
  return all;
}

}  // namespace

SeriesWindows windows_of_series(const CsvPart& part, const std::vector<int64_t>& rows, const DataSettings& settings,
                                LastWindows last, const std::string& name) {
  SeriesWindows all = part.series.size() == 1
                          ? SeriesWindows{windows_of(part.series.front(), rows, settings, last, name), 1, 0}
                          : windows_of_each(part, rows, settings, last, name);
  drop_across_breaks(part, all, name);
  drop_beyond_known(part, all, settings, name);
  if (settings.window == 0 || settings.missing != MissingPolicy::kDrop) return all;
  drop_windows_with_gaps(part, all);
  if (all.windows.first.empty())
    throw_error(ExitCode::kData,
                "{}: each of {} has a row with a missing value, and data.missing: drop leaves none; use a smaller "
                "data.window, or data.missing: previous, mean or zero",
                name, counted(all.num_with_gaps, "window"));
  return all;
}

std::vector<int64_t> CsvPart::complete_rows() const {
  std::vector<int64_t> rows = rows_with_all(features, num_rows());
  if (wanted != Targets::kRequired) return rows;
  std::erase_if(rows, [&](int64_t row) {
    const auto at = static_cast<size_t>(row);
    const auto lacks_it = [at](const NumericColumn& column) { return std::isnan(column.values[at]); };
    return std::ranges::any_of(targets, lacks_it) || (!classes.empty() && classes[at] < 0);
  });
  return rows;
}

namespace {

// Returns the ranges of consecutive rows of the series that have all features.
std::vector<RowRange> ranges_without_gaps(const CsvPart& part) {
  const std::vector<int64_t> complete = rows_with_all(part.features, part.num_rows());
  std::vector<RowRange> ranges;
  for (const CsvSeries& series : part.series) {
    RowRange range{series.rows.begin, series.rows.begin};
    for (const int64_t row : rows_in(series, complete)) {
      if (row != range.end && range.end > range.begin) ranges.push_back(range);
      if (row != range.end) range.begin = row;
      range.end = row + 1;
    }
    if (range.end > range.begin) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace

Windows sequences_of(const CsvPart& part, const DataSettings& settings) {
  std::vector<RowRange> whole, ranges;
  for (const CsvSeries& series : part.series) whole.push_back(series.rows);
  if (settings.missing == MissingPolicy::kDrop) whole = ranges_without_gaps(part);
  for (const RowRange& range : whole) {
    int64_t begin = range.begin;
    for (const int64_t row : part.breaks) {
      if (row <= begin || row >= range.end) continue;
      ranges.push_back({begin, row});
      begin = row;
    }
    ranges.push_back({begin, range.end});
  }
  return sequences_in(ranges, settings.window);
}

}  // namespace rnnlab
