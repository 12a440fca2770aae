#include "bench/estimate.h"

#include <algorithm>

#include "base/error.h"
#include "base/split_mix64.h"
#include "results/comparison.h"
#include "results/statistics.h"

namespace rnnlab {
namespace {

constexpr size_t kResamples = 10000;
constexpr uint64_t kResamplingSeed = 1;

// The difference of medians over rounds drawn anew, with buffers that are reused.
class ResampledDifference {
 public:
  ResampledDifference(const std::vector<double>& whole, const std::vector<double>& part)
      : samples_of_whole_(whole), samples_of_part_(part), whole_(whole.size()), part_(whole.size()) {
    RNNLAB_INVARIANT(!whole.empty() && whole.size() == part.size(),
                     "a difference needs as many samples of the part as of the whole");
  }

  double draw(SplitMix64& random) {
    for (size_t i = 0; i < whole_.size(); ++i) {
      const size_t round = random.next() % whole_.size();
      whole_[i] = samples_of_whole_[round];
      part_[i] = samples_of_part_[round];
    }
    return median_of(whole_) - median_of(part_);
  }

 private:
  static double median_of(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
  }

  const std::vector<double>& samples_of_whole_;
  const std::vector<double>& samples_of_part_;
  std::vector<double> whole_, part_;
};

Estimate median_estimate(const std::vector<double>& samples) {
  const Interval bounds = median_interval(samples).bounds;
  return {.value = median(samples), .low = bounds.low, .high = bounds.high};
}

PartTimes times_of_one(const Samples3& samples) {
  return {.forward = median_estimate(samples.forward),
          .backward_data = difference(samples.forward_data, samples.forward),
          .backward_weights = difference(samples.all, samples.forward_data),
          .total = median_estimate(samples.all)};
}

Estimate with_range(double value, const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  return {.value = value, .low = low, .high = high};
}

bool has_interval(const std::vector<double>& values) { return std::ssize(values) >= kFewestForInterval; }

// `values` has one number of each process, all above 0.
Estimate geometric_estimate(const std::vector<double>& values) {
  if (has_interval(values)) return estimate_of(geometric_mean_estimate(values));
  return with_range(geometric_mean(values), values);
}

Estimate arithmetic_estimate(const std::vector<double>& values) {
  const Estimate mean = estimate_of(arithmetic_mean_estimate(values));
  return has_interval(values) ? mean : with_range(mean.value, values);
}

std::vector<double> medians(const std::vector<Samples3>& processes, std::vector<double> Samples3::*program) {
  std::vector<double> values;
  for (const Samples3& process : processes) values.push_back(median(process.*program));
  return values;
}

std::vector<double> minus(std::vector<double> whole, const std::vector<double>& part) {
  for (size_t i = 0; i < whole.size(); ++i) whole[i] -= part[i];
  return whole;
}

Estimate ratio_of_medians(const std::vector<double>& numerator, const std::vector<double>& denominator) {
  const MedianRatio result = median_ratio(numerator, denominator);
  return {.value = result.ratio, .low = result.bounds.low, .high = result.bounds.high};
}

}  // namespace

Estimate estimate_of(const MeanEstimate& mean) {
  return {.value = mean.value, .low = mean.bounds.low, .high = mean.bounds.high};
}

Estimate difference(const std::vector<double>& whole, const std::vector<double>& part) {
  ResampledDifference resampled(whole, part);
  SplitMix64 random(kResamplingSeed);
  std::vector<double> drawn(kResamples);
  for (double& value : drawn) value = resampled.draw(random);
  std::ranges::sort(drawn);
  return {.value = median(whole) - median(part), .low = quantile(drawn, 0.025), .high = quantile(drawn, 0.975)};
}

PartValues part_values(const std::vector<Samples3>& processes) {
  PartValues values{.forward = medians(processes, &Samples3::forward),
                    .backward_data = medians(processes, &Samples3::forward_data),
                    .backward_weights = medians(processes, &Samples3::all),
                    .total = medians(processes, &Samples3::all)};
  values.backward_weights = minus(values.backward_weights, values.backward_data);
  values.backward_data = minus(values.backward_data, values.forward);
  return values;
}

PartTimes part_times(const std::vector<Samples3>& processes) {
  if (processes.size() == 1) return times_of_one(processes[0]);
  const PartValues values = part_values(processes);
  return {.forward = geometric_estimate(values.forward),
          .backward_data = arithmetic_estimate(values.backward_data),
          .backward_weights = arithmetic_estimate(values.backward_weights),
          .total = geometric_estimate(values.total)};
}

Estimate speedup(const std::vector<Samples3>& base, const std::vector<Samples3>& own,
                 std::vector<double> Samples3::*program) {
  RNNLAB_INVARIANT(!base.empty() && base.size() == own.size(), "a speed-up pairs the processes of both sides");
  if (own.size() == 1) return ratio_of_medians(base[0].*program, own[0].*program);
  std::vector<double> ratios = medians(base, program);
  const std::vector<double> seconds = medians(own, program);
  for (size_t i = 0; i < ratios.size(); ++i) ratios[i] /= seconds[i];
  return geometric_estimate(ratios);
}

}  // namespace rnnlab
