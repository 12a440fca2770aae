#include "results/statistics.h"

#include <algorithm>
#include <cmath>
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

// P(X = k) of the binomial distribution with n trials of one half.
double binomial_half(size_t k, size_t n) {
  const auto log_factorial = [](size_t i) { return std::lgamma(static_cast<double>(i) + 1); };
  const double log_choose = log_factorial(n) - log_factorial(k) - log_factorial(n - k);
  return std::exp(log_choose - static_cast<double>(n) * std::log(2.0));
}

struct Ranks {
  double first_sum = 0;         // of the first sample, tied values sharing their mean rank
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

// How many ways there are to draw `count` of the doubled ranks (whole numbers, also of tied values) by their sum.
std::vector<double> ways_by_sum(const std::vector<size_t>& doubled_ranks, size_t count) {
  const size_t largest_sum = std::accumulate(doubled_ranks.begin(), doubled_ranks.end(), size_t{0});
  std::vector<std::vector<double>> ways(count + 1, std::vector<double>(largest_sum + 1, 0));
  ways[0][0] = 1;
  for (const size_t rank : doubled_ranks)
    for (size_t drawn = count; drawn > 0; --drawn)  // downwards, so that each rank is drawn once
      for (size_t sum = rank; sum <= largest_sum; ++sum) ways[drawn][sum] += ways[drawn - 1][sum - rank];
  return ways[count];
}

// Twice the smaller of P(sum <= seen) and P(sum >= seen), which with ties are no mirror images of each other. Either
// side tells the same, so the smaller is counted.
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

// std::uniform_int_distribution differs between standard libraries; this does not, and its bias is below 2^-32.
size_t random_index(std::mt19937_64& random, size_t size) { return static_cast<size_t>((random() >> 32) * size >> 32); }

double resampled_median(const std::vector<double>& samples, std::mt19937_64& random, std::vector<double>& buffer) {
  buffer.resize(samples.size());
  for (double& value : buffer) value = samples[random_index(random, samples.size())];
  const auto middle = buffer.begin() + static_cast<std::ptrdiff_t>(buffer.size() / 2);
  std::nth_element(buffer.begin(), middle, buffer.end());
  if (buffer.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(buffer.begin(), middle)) / 2;
}

}  // namespace

double quantile(std::vector<double> samples, double q) {
  RNNLAB_INVARIANT(!samples.empty() && q >= 0 && q <= 1, "quantile of nothing, or outside 0..1");
  std::ranges::sort(samples);
  return quantile_of_sorted(samples, q);
}

double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

MedianInterval median_interval(std::vector<double> samples) {
  RNNLAB_INVARIANT(!samples.empty(), "interval of nothing");
  constexpr double kMostInOneTail = 0.025;
  std::ranges::sort(samples);
  const size_t n = samples.size();
  size_t first = 0;
  double tail = binomial_half(0, n);  // of the population's median lying below samples[first]
  const bool is_full_range = tail > kMostInOneTail;
  for (double next = tail; !is_full_range && next <= kMostInOneTail; next += binomial_half(++first, n)) tail = next;
  if (first > 0) --first;
  return {.bounds = {samples[first], samples[n - 1 - first]}, .coverage = 1 - 2 * tail, .is_full_range = is_full_range};
}

MannWhitney mann_whitney(std::span<const double> first, std::span<const double> second) {
  RNNLAB_INVARIANT(!first.empty() && !second.empty(), "test of nothing");
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

}  // namespace rnnlab
