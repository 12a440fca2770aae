// SPDX-License-Identifier: Apache-2.0
// The statistics that comparisons of times need: quantiles, medians and exact rank tests, which assume nothing about
// the distribution (times are skewed and have outliers), and t intervals over processes. All functions are pure.
// Samples that are sorted are taken by value. Samples must not be empty.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace rnnlab {

// Returns the q-quantile, 0 <= q <= 1, by linear interpolation between order statistics (Hyndman and Fan, 1996,
// definition 7; the default of NumPy).
double quantile(std::vector<double> samples, double q);

double median(std::vector<double> samples);

// Returns the median, and changes the order of the samples: for resampling, which draws thousands of medians.
double median_in_place(std::vector<double>& samples);

struct Interval {
  double low = 0;
  double high = 0;
};

// An interval that covers the median of the population.
struct MedianInterval {
  Interval bounds;
  double coverage = 0;         // the confidence: at least .95 unless is_full_range
  bool is_full_range = false;  // fewer than 6 samples: the interval is from the minimum to the maximum
};

// Returns the narrowest symmetric pair of order statistics with at least 95 % coverage, from the binomial distribution
// of the number of samples below the median (Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2).
MedianInterval median_interval(std::vector<double> samples);

// The two-sided p-value of the rank sums if both samples come from one distribution (Mann and Whitney, 1947; tied
// values share their mean rank). For at most 100 samples together the p-value is exact: all assignments of ranks to the
// two sides are counted. For more samples it is the normal approximation with tie correction and continuity correction
// (Lehmann, Nonparametrics, 1975, section 1.4).
struct MannWhitney {
  double u = 0;  // of the first sample
  double p_value = 1;
  bool is_exact = false;
};
MannWhitney mann_whitney(std::span<const double> first, std::span<const double> second);

// median(numerator) / median(denominator) with a 95 % percentile bootstrap interval (Efron and Tibshirani, 1993,
// chapter 13). Each side is resampled 10,000 times with a fixed seed, so the interval is equal on every machine.
struct MedianRatio {
  double ratio = 0;
  Interval bounds;
};
MedianRatio median_ratio(const std::vector<double>& numerator, const std::vector<double>& denominator);

// Returns the quantile q, 0 < q < 1, of Student's t distribution, for intervals of a mean. The degrees of freedom are
// above 0 and need not be whole.
double student_t_quantile(double q, double degrees_of_freedom);

double arithmetic_mean(std::span<const double> samples);

// Returns the sum of the squares of the distances from the mean.
double squared_deviations(std::span<const double> samples);

// Of a sample: the sum of squares is divided by one less than their number. Returns nothing for fewer than two values.
std::optional<double> standard_deviation(std::span<const double> samples);

// The functions below give intervals over processes, with one sample a process. They are t intervals of mean
// logarithms, so that the interval of a ratio does not depend on which side is the slower. Their samples are positive,
// except for arithmetic_mean_estimate: differences may be negative.

// Returns the geometric mean of at least one sample.
double geometric_mean(std::span<const double> samples);

// Pools an epoch's times of several runs: returns their geometric mean, or NaN if a time is not positive and finite.
double pooled_seconds(std::span<const double> samples);

// Pools an epoch's losses or metrics of several runs: returns their median, or NaN if one of them is NaN.
double pooled_metric(std::span<const double> samples);

// A value with its 95 % confidence interval.
struct MeanEstimate {
  double value = 0;
  Interval bounds;
};

// Returns the geometric mean of at least two samples.
MeanEstimate geometric_mean_estimate(std::span<const double> samples);

// Returns the arithmetic mean of at least two samples of any sign.
MeanEstimate arithmetic_mean_estimate(std::span<const double> samples);

// Returns the ratio of the geometric means of two sides whose i-th samples were measured in the same round, so that a
// slowdown of both sides cancels. Each side needs the same number of samples, at least two.
MeanEstimate paired_ratio(std::span<const double> numerators, std::span<const double> denominators);

// Returns the ratio of the geometric means of two sides that were measured independently, with at least two samples
// each. The interval uses the degrees of freedom of Welch, 1947, so the variances of the sides may differ.
MeanEstimate unpaired_ratio(std::span<const double> numerators, std::span<const double> denominators);

}  // namespace rnnlab
