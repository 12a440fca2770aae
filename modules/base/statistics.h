// The few statistics that comparing times takes: quantiles, medians and exact rank tests, which assume nothing about
// the distribution, and t intervals over processes. Pure functions; samples that are sorted are taken by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rnnlab {

// The few statistics that comparing epoch times takes, all free of assumptions about the distribution: times are skewed
// and have outliers. Pure functions; samples are taken by value because they are sorted. Nothing here may be empty.

// The q-quantile, 0 <= q <= 1, by linear interpolation between order statistics
// (Hyndman and Fan, 1996, definition 7; what NumPy does by default).
double quantile(std::vector<double> samples, double q);

double median(std::vector<double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};

// An interval that covers the median of the population.
struct MedianInterval {
  Interval bounds;
  double coverage = 0;         // the confidence that it really has: at least .95 unless is_full_range
  bool is_full_range = false;  // fewer than 6 samples: minimum and maximum, which is all they can say
};

// The narrowest symmetric pair of order statistics with at least 95 % coverage, from the binomial distribution of the
// number of samples below the median (Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2).
MedianInterval median_interval(std::vector<double> samples);

// How likely rank sums this far from the expected one are when both samples come from one distribution; two-sided.
// Mann and Whitney, 1947, tied values sharing their mean rank: exact for at most 100 samples together, by counting all
// ways to give the ranks to the sides; else the normal approximation with tie correction and continuity correction
// (Lehmann, Nonparametrics, 1975, section 1.4).
struct MannWhitney {
  double u = 0;  // of the first sample
  double p_value = 1;
  bool is_exact = false;
};
MannWhitney mann_whitney(std::span<const double> first, std::span<const double> second);

// median(numerator) / median(denominator) with a 95 % percentile bootstrap interval (Efron and Tibshirani, 1993,
// chapter 13): 10,000 resamples of each side with a fixed seed, so the same samples give the same interval everywhere.
struct MedianRatio {
  double ratio = 0;
  Interval bounds;
};
MedianRatio median_ratio(const std::vector<double>& numerator, const std::vector<double>& denominator);

// Student's t distribution, for intervals of a mean.

// The value that a t variable of so many degrees of freedom (above 0, not only whole ones) lies below with probability
// q, 0 < q < 1.
double student_t_quantile(double q, double degrees_of_freedom);

// Intervals over processes: t intervals of mean logarithms, so that times and ratios are treated alike whichever side
// is the slower. The samples are positive, one a process. Differences may be negative, and have an arithmetic mean.

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
