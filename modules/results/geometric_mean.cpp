#include "results/geometric_mean.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "results/student_t.h"

namespace rnnlab {
namespace {

struct MeanLog {
  double mean = 0;
  double squared_error = 0;  // of the mean: the variance over the number of samples
  double degrees_of_freedom = 0;
};

double mean_log(std::span<const double> samples) {
  double sum = 0;
  for (const double sample : samples) sum += std::log(sample);
  return sum / static_cast<double>(samples.size());
}

MeanLog mean_log_with_error(std::span<const double> samples) {
  RNNLAB_INVARIANT(samples.size() >= 2, "an interval over fewer than two samples");
  const auto n = static_cast<double>(samples.size());
  const double mean = mean_log(samples);
  double squares = 0;
  for (const double sample : samples) squares += (std::log(sample) - mean) * (std::log(sample) - mean);
  return {.mean = mean, .squared_error = squares / (n - 1) / n, .degrees_of_freedom = n - 1};
}

MeanEstimate estimate_of(const MeanLog& log) {
  constexpr double kUpperQuantile = 0.975;
  // Equal samples, such as those of a coarse clock, have no error, and perhaps no degrees of freedom.
  const double reach = log.squared_error > 0
                           ? student_t_quantile(kUpperQuantile, log.degrees_of_freedom) * std::sqrt(log.squared_error)
                           : 0;
  return {.value = std::exp(log.mean), .bounds = {std::exp(log.mean - reach), std::exp(log.mean + reach)}};
}

}  // namespace

double geometric_mean(std::span<const double> samples) {
  RNNLAB_INVARIANT(!samples.empty(), "the mean of nothing");
  if (samples.size() == 1) return samples[0];
  return std::exp(mean_log(samples));
}

MeanEstimate geometric_mean_estimate(std::span<const double> samples) {
  return estimate_of(mean_log_with_error(samples));
}

MeanEstimate paired_ratio(std::span<const double> numerators, std::span<const double> denominators) {
  RNNLAB_INVARIANT(numerators.size() == denominators.size(), "pairs of unequal numbers");
  std::vector<double> ratios;
  for (size_t i = 0; i < numerators.size(); ++i) ratios.push_back(numerators[i] / denominators[i]);
  return geometric_mean_estimate(ratios);
}

MeanEstimate unpaired_ratio(std::span<const double> numerators, std::span<const double> denominators) {
  const MeanLog a = mean_log_with_error(numerators);
  const MeanLog b = mean_log_with_error(denominators);
  const double squared_error = a.squared_error + b.squared_error;
  const double a_part = a.squared_error * a.squared_error / a.degrees_of_freedom;
  const double b_part = b.squared_error * b.squared_error / b.degrees_of_freedom;
  return estimate_of({.mean = a.mean - b.mean,
                      .squared_error = squared_error,
                      .degrees_of_freedom = squared_error * squared_error / (a_part + b_part)});
}

}  // namespace rnnlab
