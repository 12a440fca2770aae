// How often values lie where, for TensorBoard's histograms and distributions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rnnlab::tensorboard {

inline constexpr int64_t kNumBuckets = 30;  // as TensorBoard's own writers have

struct Histogram {
  double lowest = 0;
  double highest = 0;
  double sum = 0;  // of the values
  double sum_of_squares = 0;
  std::span<const double> counts;  // kNumBuckets of equal width from the lowest to the highest value
};

// A Summary message.
std::string histogram_summary(std::string_view tag, const Histogram& histogram);

}  // namespace rnnlab::tensorboard
