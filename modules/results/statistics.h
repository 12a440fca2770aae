// The few statistics that comparing epoch times takes, all free of assumptions about the distribution: times are skewed
// and have outliers. Pure functions; samples are taken by value because they are sorted. Nothing here may be empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rnnlab {

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

}  // namespace rnnlab
