// SPDX-License-Identifier: Apache-2.0
// What `data inspect` says of the values of series: the step of their times, and whether a forecast that needs no model
// is strong, so that a model should begin with it (data.season, target_as, scale_by).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/readers/time_grid.h"

namespace rnnlab {

// The times and the target of one series, in the order of time; NaN where the target is missing. `times` may be empty.
struct SeriesValues {
  std::vector<int64_t> times;
  std::vector<double> values;
};

// How series differ: the deviation of one is more than ten times that of another, or the means of two are more than
// three deviations apart.
enum class SeriesDifference { kNone, kScale, kLevel };

struct SeriesAdvice {
  // The step, if all times are whole numbers of it apart.
  std::optional<TimeStep> step;
  // The root mean squared error of the last value, over the deviation of the target; 1 if there are too few values.
  double error_of_last = 1;
  // Likewise of the value one season before, and the season of those that the step suggests with the least error, if
  // that is less than kUseful.
  double error_of_season = 1;
  std::optional<int64_t> season;
  SeriesDifference difference = SeriesDifference::kNone;

  static constexpr double kUseful = 0.8, kStrong = 0.5;

  bool is_last_strong() const { return error_of_last < kStrong && error_of_last <= error_of_season; }
  bool is_season_strong() const { return season && error_of_season < kStrong && error_of_season < error_of_last; }
};

SeriesAdvice advise_on_series(const std::vector<SeriesValues>& all);

}  // namespace rnnlab
