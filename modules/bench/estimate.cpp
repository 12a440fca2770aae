#include "bench/estimate.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/split_mix64.h"

namespace rnnlab {
namespace {

constexpr size_t kResamples = 10000;
constexpr uint64_t kResamplingSeed = 1;

double difference_of_medians(const Difference& samples) { return median(samples.whole) - median(samples.part); }

// The difference of medians over rounds drawn anew, with buffers that are reused.
class ResampledDifference {
 public:
  explicit ResampledDifference(const Difference& samples)
      : samples_(samples), whole_(samples.whole.size()), part_(samples.whole.size()) {
    RNNLAB_INVARIANT(!samples.whole.empty() && samples.whole.size() == samples.part.size(),
                     "a difference needs as many samples of the part as of the whole");
  }

  double draw(SplitMix64& random) {
    for (size_t i = 0; i < whole_.size(); ++i) {
      const size_t round = random.next() % whole_.size();
      whole_[i] = samples_.whole[round];
      part_[i] = samples_.part[round];
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

  Difference samples_;
  std::vector<double> whole_, part_;
};

template <class Draw>
std::vector<double> resample(Draw draw) {
  SplitMix64 random(kResamplingSeed);
  std::vector<double> drawn(kResamples);
  for (double& value : drawn) value = draw(random);
  std::ranges::sort(drawn);
  return drawn;
}

Estimate with_percentiles(double value, const std::vector<double>& drawn) {
  return {.value = value, .low = quantile(drawn, 0.025), .high = quantile(drawn, 0.975)};
}

Estimate median_estimate(const std::vector<double>& samples) {
  const Interval bounds = median_interval(samples).bounds;
  return {.value = median(samples), .low = bounds.low, .high = bounds.high};
}

}  // namespace

Estimate difference(const std::vector<double>& whole, const std::vector<double>& part) {
  ResampledDifference resampled({whole, part});
  const auto drawn = resample([&](SplitMix64& random) { return resampled.draw(random); });
  return with_percentiles(difference_of_medians({whole, part}), drawn);
}

PartTimes part_times(const Samples3& samples) {
  return {.forward = median_estimate(samples.forward),
          .backward_data = difference(samples.forward_data, samples.forward),
          .backward_weights = difference(samples.all, samples.forward_data),
          .total = median_estimate(samples.all)};
}

Estimate ratio(const std::vector<double>& numerator, const std::vector<double>& denominator) {
  const MedianRatio result = median_ratio(numerator, denominator);
  return {.value = result.ratio, .low = result.bounds.low, .high = result.bounds.high};
}

std::optional<Estimate> ratio(const Difference& numerator, const Difference& denominator) {
  ResampledDifference top(numerator);
  ResampledDifference bottom(denominator);
  bool is_defined = difference_of_medians(denominator) > 0;
  const auto drawn = resample([&](SplitMix64& random) {
    const double above = top.draw(random);
    const double below = bottom.draw(random);
    is_defined = is_defined && below > 0;
    return below > 0 ? above / below : 0;
  });
  if (!is_defined) return std::nullopt;
  return with_percentiles(difference_of_medians(numerator) / difference_of_medians(denominator), drawn);
}

}  // namespace rnnlab
