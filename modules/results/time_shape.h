// Outliers, trends, two modes and other shapes of epoch times that make a median doubtful, and the warnings about them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "results/epoch_row.h"
#include "results/run_record.h"
#include "system/warning.h"

namespace rnnlab {

// What the shape of a few times tells against them, whatever their median: a first one that is not warm yet, an
// outlier, a drift, two kinds of times with nothing between, and times that are all equal, which no clock measures.
// Pure functions of times above zero in the order in which they were measured. All but the last work on logarithms, so
// that twice as long weighs as much as half as long. On honest times, lognormal with a spread of 2 to 30 %, fewer than
// 1 % of the runs are told anything of (time_shape_test.cpp).

// At least three times, all equal to the last digit.
bool are_all_equal(std::span<const double> seconds);

// The first of at least four is the longest, 1.75 times the median of the others, and lies further above all of them
// than three times their range.
bool is_first_cold(std::span<const double> seconds);

// The index of the time that is furthest from the median of at least five: by a factor of two, and by 15 of the scaled
// median absolute deviations. Nothing where none is that far.
std::optional<size_t> find_outlier(std::span<const double> seconds);

// The last over the first by the line of Theil and Sen (1968): the median slope of all pairs. Nothing unless a trend is
// shown: p below .001 by Kendall's rank correlation with time (exact up to 50 times, from seven on), more than 5 %, and
// more than five times the noise around the line, for what lasts over several epochs is not yet a drift.
std::optional<double> find_trend(std::span<const double> seconds);

// Two kinds of times, each with its number and its median.
struct TwoModes {
  size_t num_short = 0, num_long = 0;
  double short_seconds = 0, long_seconds = 0;
};

// Nothing unless each kind has at least three, and the gap between them is more than 10 % and three times as wide as
// either kind itself.
std::optional<TwoModes> find_two_modes(std::span<const double> seconds);

// The shape of a run's epochs, and of the processes of a group, in words (time_shape.h).

// Of the epochs that count. An epoch that is told of as not warm or as an outlier is left out of the rest.
std::vector<Warning> shape_warnings(std::span<const EpochRow> rows);

// Of the processes' times, in the order in which they ran.
std::vector<Warning> shape_warnings(const RunGroup& group);

}  // namespace rnnlab
