// SPDX-License-Identifier: Apache-2.0
#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

#include "base/error.h"

namespace rnnlab {
namespace {

double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(position));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

// Returns P(X = k) of the binomial distribution with n trials of probability one half.
double binomial_half(size_t k, size_t n) {
  const auto log_factorial = [](size_t i) { return std::lgamma(static_cast<double>(i) + 1); };
  const double log_choose = log_factorial(n) - log_factorial(k) - log_factorial(n - k);
  return std::exp(log_choose - static_cast<double>(n) * std::numbers::ln2);
}

struct Ranks {
  double first_sum = 0;         // of the first sample; tied values share their mean rank
  double tie_term = 0;          // sum of t^3 - t over groups of t tied values
  std::vector<size_t> doubled;  // of both samples, twice each rank
};

Ranks rank_sums(std::span<const double> first, std::span<const double> second) {
  std::vector<std::pair<double, bool>> all;
  for (const double value : first) all.emplace_back(value, true);
  for (const double value : second) all.emplace_back(value, false);
  std::ranges::sort(all);
  Ranks ranks;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    const double mean_rank = static_cast<double>(begin + 1 + end) / 2;
    for (size_t i = begin; i < end; ++i) ranks.first_sum += all[i].second ? mean_rank : 0;
    ranks.doubled.insert(ranks.doubled.end(), end - begin, begin + 1 + end);
    const auto ties = static_cast<double>(end - begin);
    ranks.tie_term += ties * ties * ties - ties;
    begin = end;
  }
  return ranks;
}

// Returns, for each sum, in how many ways `count` of the doubled ranks have this sum. Doubled ranks are whole numbers
// even for tied values.
std::vector<double> ways_by_sum(const std::vector<size_t>& doubled_ranks, size_t count) {
  const size_t largest_sum = std::accumulate(doubled_ranks.begin(), doubled_ranks.end(), size_t{0});
  std::vector<std::vector<double>> ways(count + 1, std::vector<double>(largest_sum + 1, 0));
  ways[0][0] = 1;
  for (const size_t rank : doubled_ranks)
    for (size_t drawn = count; drawn > 0; --drawn)  // The order is descending, so that each rank is drawn once.
      for (size_t sum = rank; sum <= largest_sum; ++sum) ways[drawn][sum] += ways[drawn - 1][sum - rank];
  return ways[count];
}

// Returns twice the smaller of P(sum <= seen) and P(sum >= seen), which are not symmetric if there are ties. The rank
// sums of both samples hold the same information, so the sums of the smaller sample are counted.
double exact_two_sided(const Ranks& ranks, size_t n, size_t m) {
  const auto all_ranks = static_cast<double>((n + m) * (n + m + 1));  // doubled, as all sums here
  const double seen = n <= m ? 2 * ranks.first_sum : all_ranks - 2 * ranks.first_sum;
  const std::vector<double> ways = ways_by_sum(ranks.doubled, std::min(n, m));
  double all = 0, at_most = 0, at_least = 0;
  for (size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    if (static_cast<double>(sum) <= seen) at_most += ways[sum];
    if (static_cast<double>(sum) >= seen) at_least += ways[sum];
  }
  return std::min(1.0, 2 * std::min(at_most, at_least) / all);
}

double normal_two_sided(double u, double n, double m, double tie_term) {
  const double total = n + m;
  const double variance = n * m / 12 * (total + 1 - tie_term / (total * (total - 1)));
  if (variance <= 0) return 1;  // all values are equal
  const double distance = std::max(0.0, std::abs(u - n * m / 2) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

// std::uniform_int_distribution differs between standard libraries; this function does not. Its bias is below 2^-32.
size_t random_index(std::mt19937_64& random, size_t size) { return static_cast<size_t>((random() >> 32) * size >> 32); }

double resampled_median(const std::vector<double>& samples, std::mt19937_64& random, std::vector<double>& buffer) {
  buffer.resize(samples.size());
  for (double& value : buffer) value = samples[random_index(random, samples.size())];
  return median_in_place(buffer);
}

}  // namespace

double quantile(std::vector<double> samples, double q) {
  RNNLAB_INVARIANT(!samples.empty() && q >= 0 && q <= 1, "a quantile needs at least one sample and 0 <= q <= 1");
  std::ranges::sort(samples);
  return quantile_of_sorted(samples, q);
}

double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

double median_in_place(std::vector<double>& samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(samples.begin(), middle)) / 2;
}

MedianInterval median_interval(std::vector<double> samples) {
  RNNLAB_INVARIANT(!samples.empty(), "the interval of a median needs at least one sample");
  constexpr double kMostInOneTail = 0.025;
  std::ranges::sort(samples);
  const size_t n = samples.size();
  size_t first = 0;
  double tail = binomial_half(0, n);  // probability that the population's median is below samples[first]
  const bool is_full_range = tail > kMostInOneTail;
  for (double next = tail; !is_full_range && next <= kMostInOneTail; next += binomial_half(++first, n)) tail = next;
  if (first > 0) --first;
  return {.bounds = {samples[first], samples[n - 1 - first]}, .coverage = 1 - 2 * tail, .is_full_range = is_full_range};
}

MannWhitney mann_whitney(std::span<const double> first, std::span<const double> second) {
  RNNLAB_INVARIANT(!first.empty() && !second.empty(), "a rank test needs at least one sample on each side");
  constexpr size_t kMostForExact = 100;
  const auto n = static_cast<double>(first.size());
  const auto m = static_cast<double>(second.size());
  const Ranks ranks = rank_sums(first, second);
  MannWhitney result;
  result.u = ranks.first_sum - n * (n + 1) / 2;
  result.is_exact = first.size() + second.size() <= kMostForExact;
  result.p_value = result.is_exact ? exact_two_sided(ranks, first.size(), second.size())
                                   : normal_two_sided(result.u, n, m, ranks.tie_term);
  return result;
}

MedianRatio median_ratio(const std::vector<double>& numerator, const std::vector<double>& denominator) {
  constexpr int kResamples = 10000;
  constexpr uint64_t kSeed = 1;
  std::mt19937_64 random(kSeed);
  std::vector<double> buffer;
  std::vector<double> ratios(kResamples);
  for (double& ratio : ratios) {
    const double top = resampled_median(numerator, random, buffer);
    ratio = top / resampled_median(denominator, random, buffer);
  }
  std::ranges::sort(ratios);
  return {.ratio = median(numerator) / median(denominator),
          .bounds = {quantile_of_sorted(ratios, 0.025), quantile_of_sorted(ratios, 0.975)}};
}

namespace {

// Keeps a denominator of the continued fraction different from zero (Lentz's method).
double not_zero(double value) {
  constexpr double kTiny = 1e-300;
  return std::abs(value) < kTiny ? kTiny : value;
}

// Returns the continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8). It converges fast for
// x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr int kMostTerms = 10000;
  constexpr double kPrecision = std::numeric_limits<double>::epsilon();
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < kPrecision) break;
  }
  return fraction;
}

// Returns I_x(a, b). The caller passes y = 1 - x, because it knows y to more digits when x is near 1.
double regularized_beta(double a, double b, double x, double y) {
  if (x <= 0 || y <= 0) return x <= 0 ? 0 : 1;
  const double log_front = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(y);
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) * beta_fraction(a, b, x) / a;
  return 1 - std::exp(log_front) * beta_fraction(b, a, y) / b;
}

// Returns P(T > t) for t >= 0.
double upper_tail(double t, double degrees_of_freedom) {
  const double sum = degrees_of_freedom + t * t;
  return regularized_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / sum, t * t / sum) / 2;
}

// Returns the t at which the upper tail, which decreases with t, equals `tail`.
double quantile_of_upper_tail(double tail, double degrees_of_freedom) {
  double low = 0, high = 1;
  while (upper_tail(high, degrees_of_freedom) > tail) high *= 2;
  for (double middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2)
    (upper_tail(middle, degrees_of_freedom) > tail ? low : high) = middle;
  return high;
}

}  // namespace

double student_t_quantile(double q, double degrees_of_freedom) {
  RNNLAB_INVARIANT(q > 0 && q < 1 && degrees_of_freedom > 0,
                   "a quantile of Student's t needs 0 < q < 1 and degrees of freedom above 0");
  if (q == 0.5) return 0;
  if (q < 0.5) return -quantile_of_upper_tail(q, degrees_of_freedom);
  return quantile_of_upper_tail(1 - q, degrees_of_freedom);
}

double arithmetic_mean(std::span<const double> samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

double squared_deviations(std::span<const double> samples) {
  const double mean = arithmetic_mean(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return squares;
}

std::optional<double> standard_deviation(std::span<const double> samples) {
  if (samples.size() < 2) return std::nullopt;
  return std::sqrt(squared_deviations(samples) / static_cast<double>(samples.size() - 1));
}

namespace {

// The mean of samples, which may be logarithms, and its squared standard error.
struct Mean {
  double value = 0;
  double squared_error = 0;  // the variance over the number of samples
  double degrees_of_freedom = 0;
};

Mean mean_with_error(std::span<const double> samples) {
  RNNLAB_INVARIANT(samples.size() >= 2, "an interval of a mean needs at least two samples");
  const auto n = static_cast<double>(samples.size());
  return {.value = arithmetic_mean(samples),
          .squared_error = squared_deviations(samples) / (n - 1) / n,
          .degrees_of_freedom = n - 1};
}

std::vector<double> logarithms(std::span<const double> samples) {
  std::vector<double> logs;
  for (const double sample : samples) logs.push_back(std::log(sample));
  return logs;
}

// Returns half the width of the interval.
double reach_of(const Mean& mean) {
  constexpr double kUpperQuantile = 0.975;
  // Equal samples, such as times of a coarse clock, have a zero error, and their degrees of freedom may be undefined.
  if (mean.squared_error <= 0) return 0;
  return student_t_quantile(kUpperQuantile, mean.degrees_of_freedom) * std::sqrt(mean.squared_error);
}

MeanEstimate from_logarithm(const Mean& log) {
  const double reach = reach_of(log);
  return {.value = std::exp(log.value), .bounds = {std::exp(log.value - reach), std::exp(log.value + reach)}};
}

}  // namespace

double geometric_mean(std::span<const double> samples) {
  RNNLAB_INVARIANT(!samples.empty(), "a mean needs at least one sample");
  if (samples.size() == 1) return samples[0];
  return std::exp(arithmetic_mean(logarithms(samples)));
}

double pooled_seconds(std::span<const double> samples) {
  const bool are_times = std::ranges::all_of(samples, [](double value) { return value > 0 && std::isfinite(value); });
  return are_times ? geometric_mean(samples) : std::numeric_limits<double>::quiet_NaN();
}

double pooled_metric(std::span<const double> samples) {
  const bool has_nan = std::ranges::any_of(samples, [](double value) { return std::isnan(value); });
  return has_nan ? std::numeric_limits<double>::quiet_NaN() : median({samples.begin(), samples.end()});
}

MeanEstimate geometric_mean_estimate(std::span<const double> samples) {
  return from_logarithm(mean_with_error(logarithms(samples)));
}

MeanEstimate arithmetic_mean_estimate(std::span<const double> samples) {
  const Mean mean = mean_with_error(samples);
  const double reach = reach_of(mean);
  return {.value = mean.value, .bounds = {mean.value - reach, mean.value + reach}};
}

MeanEstimate paired_ratio(std::span<const double> numerators, std::span<const double> denominators) {
  RNNLAB_INVARIANT(numerators.size() == denominators.size(),
                   "a paired ratio needs the same number of samples on both sides");
  std::vector<double> ratios;
  for (size_t i = 0; i < numerators.size(); ++i) ratios.push_back(numerators[i] / denominators[i]);
  return geometric_mean_estimate(ratios);
}

MeanEstimate unpaired_ratio(std::span<const double> numerators, std::span<const double> denominators) {
  const Mean a = mean_with_error(logarithms(numerators));
  const Mean b = mean_with_error(logarithms(denominators));
  const double squared_error = a.squared_error + b.squared_error;
  const double a_part = a.squared_error * a.squared_error / a.degrees_of_freedom;
  const double b_part = b.squared_error * b.squared_error / b.degrees_of_freedom;
  return from_logarithm({.value = a.value - b.value,
                         .squared_error = squared_error,
                         .degrees_of_freedom = squared_error * squared_error / (a_part + b_part)});
}

}  // namespace rnnlab
