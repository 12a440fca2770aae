// Intervals over processes: t intervals of mean logarithms, so that times and ratios are treated alike whichever side
// is the slower. The samples are positive, one a process. Differences may be negative, and have an arithmetic mean.
#pragma once

#include <span>

#include "results/statistics.h"

namespace rnnlab {

// Of at least one sample.
double geometric_mean(std::span<const double> samples);

// What stands for an epoch's time in several runs: their geometric mean; not a number if one of them is not positive.
double pooled_seconds(std::span<const double> samples);

// What stands for an epoch's loss or metric in several runs: their median; not a number if one of them is not.
double pooled_metric(std::span<const double> samples);

// A value with its 95 % interval.
struct MeanEstimate {
  double value = 0;
  Interval bounds;
};

// The geometric mean of at least two samples.
MeanEstimate geometric_mean_estimate(std::span<const double> samples);

// The arithmetic mean of at least two samples of any sign.
MeanEstimate arithmetic_mean_estimate(std::span<const double> samples);

// The ratio of the geometric means of two sides whose i-th samples belong together, as those of one round: what slowed
// down both cancels. At least two pairs.
MeanEstimate paired_ratio(std::span<const double> numerators, std::span<const double> denominators);

// The same for sides that were measured independently, at least two samples each: Welch, 1947, with his degrees of
// freedom, so the sides may vary differently.
MeanEstimate unpaired_ratio(std::span<const double> numerators, std::span<const double> denominators);

}  // namespace rnnlab
