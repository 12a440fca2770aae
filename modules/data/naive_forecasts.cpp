// SPDX-License-Identifier: Apache-2.0
#include "data/naive_forecasts.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"

namespace rnnlab {

at::Tensor targets_in(const std::vector<NumericColumn>& targets, const std::vector<int64_t>& classes,
                      const Windows& windows, const CsvScalings& scalings, const TargetFrame& frame) {
  if (targets.empty()) return gather_classes(classes, windows);
  if (frame.bases.defined()) return scaled_changes(relative_to(frame, values_in(targets, windows)), scalings.targets);
  return gather_values(scaled(targets, scalings.targets), windows);
}

namespace {

// Returns the targets of the windows, where each missing one is replaced as carry_forward() says.
at::Tensor known_targets_in(const CsvPart& part, const Windows& windows, const CsvScalings& scalings, int64_t period,
                            const TargetFrame& frame) {
  std::vector<NumericColumn> targets = part.targets;
  for (NumericColumn& column : targets) carry_forward(column.values, part, period);
  std::vector<int64_t> classes = part.classes;
  if (!classes.empty()) carry_forward(classes, part, period);
  return targets_in(targets, classes, windows, scalings, frame);
}

// Returns the windows with an earlier row as each target: `rows_before` rows before it, for each horizon.
Windows with_earlier_targets(Windows windows, const std::vector<int64_t>& rows_before) {
  for (size_t i = 0; i < windows.target.size(); ++i) windows.target[i] -= rows_before[i % rows_before.size()];
  return windows;
}

// Returns whether each target is a row of the series of its window.
bool are_in_their_series(const CsvPart& part, const Windows& windows) {
  for (size_t i = 0; i < windows.target.size(); ++i) {
    const CsvSeries& series = part.series_of(windows.first[i / windows.num_horizons]);
    if (windows.target[i] < series.rows.begin || windows.target[i] >= series.rows.end) return false;
  }
  return true;
}

// Makes targets unknown between which and their window is a gap in time. Returns whether one stays known.
bool forget_targets_before_breaks(const CsvPart& part, Windows& windows) {
  for (size_t i = 0; i < windows.target.size(); ++i)
    if (part.has_break(windows.target[i], windows.first[i / windows.num_horizons])) windows.target[i] = kNoRow;
  return std::ranges::any_of(windows.target, [](int64_t row) { return row != kNoRow; });
}

// Returns the windows with the row of the latest known season as each target.
Windows windows_one_season_before(const Windows& windows, const DataSettings& settings) {
  std::vector<int64_t> rows_before;
  for (const int64_t horizon : settings.horizon) rows_before.push_back(seasons_before(*settings.season, horizon));
  return with_earlier_targets(windows, rows_before);
}

// Returns nothing without data.season, if a series does not begin early enough, and if all targets are before gaps.
std::optional<Windows> windows_of_last_season(const CsvPart& part, const Windows& windows,
                                              const DataSettings& settings) {
  if (!settings.season) return std::nullopt;
  Windows earlier = windows_one_season_before(windows, settings);
  if (!are_in_their_series(part, earlier) || !forget_targets_before_breaks(part, earlier)) return std::nullopt;
  return earlier;
}

}  // namespace

std::vector<NaiveForecast> naive_forecasts(const CsvPart& part, const Windows& windows, const CsvScalings& scalings,
                                           const DataSettings& settings, const TargetFrame& frame) {
  const bool has_forecasts = settings.window > 0 && !windows.has_target_per_row;
  if (!has_forecasts || windows.target.empty() || !part.has_targets()) return {};
  std::vector<NaiveForecast> forecasts = {
      {"last value", known_targets_in(part, with_earlier_targets(windows, settings.horizon), scalings, 1, frame)}};
  if (const auto earlier = windows_of_last_season(part, windows, settings))
    forecasts.push_back(
        {"value one season before", known_targets_in(part, *earlier, scalings, *settings.season, frame)});
  return forecasts;
}

namespace {

double naive_error(const CsvPart& part, const std::vector<double>& values, const std::vector<int64_t>& rows,
                   int64_t lag) {
  double sum = 0, count = 0;
  for (auto row = rows.begin(), before = row; row != rows.end(); ++row) {
    while (*before < *row - lag) ++before;
    if (*before != *row - lag || *before < part.series_of(*row).rows.begin || part.has_break(*before, *row)) continue;
    const double difference = values[static_cast<size_t>(*row)] - values[static_cast<size_t>(*before)];
    if (std::isnan(difference)) continue;
    sum += std::abs(difference);
    ++count;
  }
  return sum / count;
}

}  // namespace

std::vector<double> naive_errors(const CsvPart& part, const std::vector<int64_t>& rows, const DataSettings& settings) {
  if (settings.window == 0 || settings.target_per != TargetPer::kSequence) return {};
  std::vector<double> errors;
  for (const NumericColumn& column : part.targets) {
    const double error = naive_error(part, column.values, rows, settings.season.value_or(1));
    errors.insert(errors.end(), settings.horizon.size(), error);
  }
  return errors;
}

std::optional<std::string> note_on_season(const CsvPart& part, const Windows& windows, const DataSettings& settings) {
  if (!settings.season || windows.target.empty() || windows_of_last_season(part, windows, settings))
    return std::nullopt;
  const int64_t num_rows = seasons_before(*settings.season, settings.horizon.front());
  if (are_in_their_series(part, windows_one_season_before(windows, settings)))
    return fmt::format("no baseline of data.season: it needs {} without a gap in time before a validation target",
                       counted(num_rows, "row"));
  if (part.series.size() > 1)
    return fmt::format("no baseline of data.season: it needs {} before the first validation target of each series",
                       counted(num_rows, "row"));
  return fmt::format("no baseline of data.season: it needs {} before the first validation target, but the file has {}",
                     counted(num_rows, "row"), windows.target.front());
}

std::vector<std::string> notes_on_missing(const std::vector<NaiveForecast>& forecasts, const at::Tensor& targets,
                                          const CsvPart& part) {
  const std::string_view where = part.breaks.empty() ? "before" : "since the last gap in time";
  std::vector<std::string> notes;
  for (const NaiveForecast& forecast : forecasts) {
    const at::Tensor are_missing = are_known(forecast.values).logical_not();
    const int64_t count = are_missing.logical_and(are_known(targets)).sum().item<int64_t>();
    if (count > 0)
      notes.push_back(fmt::format("the baseline '{}' leaves out {}, because no value {} is known", forecast.name,
                                  counted(count, "target"), where));
  }
  return notes;
}

}  // namespace rnnlab
