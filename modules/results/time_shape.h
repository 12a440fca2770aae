// SPDX-License-Identifier: Apache-2.0
// Detects shapes of a few times that make any median of them doubtful, and warns about them: a first time that is not
// warm yet, an outlier, a drift, two kinds of times with a gap between them, and times that are all equal, which no
// clock measures. The functions are pure and take positive times in the order of their measurement. All functions
// except are_all_equal use logarithms, so that twice as long has the same weight as half as long. For correct times,
// lognormal with a spread of 2 to 30 %, fewer than 1 % of the runs get a warning (time_shape_test.cpp).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/system/warning.h"
#include "results/epoch_row.h"
#include "results/run_record.h"

namespace rnnlab {

// Returns whether there are at least three times, all equal to the last digit.
bool are_all_equal(std::span<const double> seconds);

// Returns whether the first of at least four times is the longest, is 1.75 times the median of the others, and exceeds
// all others by more than three times their range.
bool is_first_cold(std::span<const double> seconds);

// Returns the index of the time that is furthest from the median of at least five times, if it differs by more than a
// factor of two and by more than 15 scaled median absolute deviations. Otherwise returns nothing.
std::optional<size_t> find_outlier(std::span<const double> seconds);

// Returns the last time over the first time on the line of Theil and Sen (1968), whose slope is the median slope of all
// pairs. Returns nothing unless there is a trend: p below .001 by Kendall's rank correlation with time (from seven
// times on, exact up to 50), a change of more than 5 %, and of more than five times the noise around the line, because
// an event over several epochs is not yet a drift.
std::optional<double> find_trend(std::span<const double> seconds);

// Describes two kinds of times, each with its number and its median.
struct TwoModes {
  size_t num_short = 0, num_long = 0;
  double short_seconds = 0, long_seconds = 0;
};

// Returns nothing unless each kind has at least three times, and the gap between the kinds is more than 10 % and more
// than three times as wide as each kind itself.
std::optional<TwoModes> find_two_modes(std::span<const double> seconds);

// Warns about the epochs that count. An epoch that is reported as not warm or as an outlier is left out of the later
// checks.
std::vector<Warning> shape_warnings(std::span<const EpochRow> rows);

// Warns about the processes' times, in the order in which the processes ran.
std::vector<Warning> shape_warnings(const RunGroup& group);

}  // namespace rnnlab
