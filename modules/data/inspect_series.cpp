// SPDX-License-Identifier: Apache-2.0
#include "data/inspect_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "data/scaling.h"

namespace rnnlab {
namespace {

// Returns the step of all series, if it is one and leads to each of their times.
std::optional<TimeStep> common_step(const std::vector<SeriesValues>& all) {
  std::optional<TimeStep> common;
  for (const SeriesValues& series : all) {
    const auto step = median_time_step(series.times);
    if (!step) continue;
    if (common && step_text(*common) != step_text(*step)) return std::nullopt;
    common = step;
    const TimeGrid grid(*step, series.times);
    for (size_t i = 1; i < series.times.size(); ++i)
      if (!grid.steps_between(series.times[i - 1], series.times[i])) return std::nullopt;
  }
  return common && parse_time_step(step_text(*common)) ? common : std::nullopt;
}

// Returns the rows until series with such a step usually repeat: days, weeks or years.
std::vector<int64_t> usual_seasons(const std::optional<TimeStep>& step) {
  constexpr std::array<std::pair<std::string_view, std::array<int64_t, 2>>, 11> kSeasons = {{{"5min", {288, 2016}},
                                                                                             {"10min", {144, 1008}},
                                                                                             {"15min", {96, 672}},
                                                                                             {"30min", {48, 336}},
                                                                                             {"1h", {24, 168}},
                                                                                             {"1d", {7, 365}},
                                                                                             {"1b", {5, 0}},
                                                                                             {"1w", {52, 0}},
                                                                                             {"1mo", {12, 0}},
                                                                                             {"1q", {4, 0}},
                                                                                             {"", {0, 0}}}};
  if (!step) return {};
  const auto found = std::ranges::find(kSeasons, step_text(*step), [](const auto& one) { return one.first; });
  if (found == kSeasons.end()) return {};
  std::vector<int64_t> seasons(found->second.begin(), found->second.end());
  std::erase(seasons, 0);
  return seasons;
}

Moments moments_of(const SeriesValues& series) {
  Moments moments;
  for (const double value : series.values)
    if (!std::isnan(value)) moments.add(value);
  return moments;
}

// Returns the error of the value so many rows before, over the deviation, in all series together. Series that are short
// beside the lag say nothing of it.
double error_of(const std::vector<SeriesValues>& all, const std::vector<Moments>& moments, int64_t lag) {
  constexpr int64_t kLeastSeasons = 3, kLeastDifferences = 20;
  double sum = 0, deviations = 0;
  int64_t count = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const SeriesValues& series = all[i];
    const auto size = std::ssize(series.values);
    if (size < kLeastSeasons * lag) continue;
    const double deviation = moments[i].standard_deviation();
    for (int64_t row = lag; row < size; ++row) {
      const double difference = series.values[static_cast<size_t>(row)] - series.values[static_cast<size_t>(row - lag)];
      if (std::isnan(difference)) continue;
      sum += difference * difference;
      deviations += deviation * deviation;
      ++count;
    }
  }
  return count < kLeastDifferences || deviations == 0 ? 1 : std::sqrt(sum / deviations);
}

// Compares the deviations of the series with each other, and their means with the largest deviation.
SeriesDifference difference_of(const std::vector<Moments>& all) {
  constexpr double kOtherScale = 10, kOtherLevel = 3;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double least = kInfinity, most = 0, lowest = kInfinity, highest = -kInfinity;
  for (const Moments& moments : all) {
    if (moments.standard_deviation() == 0) continue;
    least = std::min(least, moments.standard_deviation());
    most = std::max(most, moments.standard_deviation());
    lowest = std::min(lowest, moments.mean());
    highest = std::max(highest, moments.mean());
  }
  if (most > kOtherScale * least) return SeriesDifference::kScale;
  return highest - lowest > kOtherLevel * most ? SeriesDifference::kLevel : SeriesDifference::kNone;
}

}  // namespace

SeriesAdvice advise_on_series(const std::vector<SeriesValues>& all) {
  SeriesAdvice advice;
  advice.step = common_step(all);
  std::vector<Moments> moments;
  for (const SeriesValues& series : all) moments.push_back(moments_of(series));
  advice.error_of_last = error_of(all, moments, 1);
  for (const int64_t season : usual_seasons(advice.step)) {
    const double error = error_of(all, moments, season);
    if (error >= SeriesAdvice::kUseful || error >= advice.error_of_season) continue;
    advice.error_of_season = error;
    advice.season = season;
  }
  advice.difference = difference_of(moments);
  return advice;
}

}  // namespace rnnlab
