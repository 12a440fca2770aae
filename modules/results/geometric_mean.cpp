#include "results/geometric_mean.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "results/student_t.h"

namespace rnnlab {
namespace {

// A mean of samples, which may be logarithms, and how far it may be off.
struct Mean {
  double value = 0;
  double squared_error = 0;  // the variance over the number of samples
  double degrees_of_freedom = 0;
};

double mean_of(std::span<const double> samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

Mean mean_with_error(std::span<const double> samples) {
  RNNLAB_INVARIANT(samples.size() >= 2, "an interval over fewer than two samples");
  const auto n = static_cast<double>(samples.size());
  const double mean = mean_of(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return {.value = mean, .squared_error = squares / (n - 1) / n, .degrees_of_freedom = n - 1};
}

std::vector<double> logarithms(std::span<const double> samples) {
  std::vector<double> logs;
  for (const double sample : samples) logs.push_back(std::log(sample));
  return logs;
}

// Half the width of the interval.
double reach_of(const Mean& mean) {
  constexpr double kUpperQuantile = 0.975;
  // Equal samples, such as those of a coarse clock, have no error, and perhaps no degrees of freedom.
  if (mean.squared_error <= 0) return 0;
  return student_t_quantile(kUpperQuantile, mean.degrees_of_freedom) * std::sqrt(mean.squared_error);
}

MeanEstimate from_logarithm(const Mean& log) {
  const double reach = reach_of(log);
  return {.value = std::exp(log.value), .bounds = {std::exp(log.value - reach), std::exp(log.value + reach)}};
}

}  // namespace

double geometric_mean(std::span<const double> samples) {
  RNNLAB_INVARIANT(!samples.empty(), "the mean of nothing");
  if (samples.size() == 1) return samples[0];
  return std::exp(mean_of(logarithms(samples)));
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
  RNNLAB_INVARIANT(numerators.size() == denominators.size(), "pairs of unequal numbers");
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
