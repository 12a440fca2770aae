// SPDX-License-Identifier: Apache-2.0
#include "inference/pass_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/text.h"
#include "training/device_rates.h"

namespace rnnlab {
double PassTimes::median_seconds() const { return median(seconds); }

double PassTimes::samples_per_second() const { return static_cast<double>(num_samples) / median_seconds(); }

double PassTimes::microseconds_per_sample() const { return 1e6 / samples_per_second(); }

PassTimes time_passes(c10::Device device, int64_t num_samples, int64_t num_passes, const std::function<void()>& pass) {
  RNNLAB_INVARIANT(num_passes > 0, "the number of passes is not positive");
  PassTimes times{.num_samples = num_samples};
  for (int64_t i = 0; i < num_passes; ++i) times.seconds.push_back(synchronised_seconds(device, pass));
  return times;
}

std::string pass_times_text(const PassTimes& times) {
  const auto [least, most] = std::ranges::minmax(times.seconds);
  const std::string range = times.seconds.size() == 1 ? ""
                                                      : fmt::format(" ({} .. {} in {} passes)", format_seconds(least),
                                                                    format_seconds(most), times.seconds.size());
  return fmt::format("{}{}, {} samples/s, {} us a sample", format_seconds(times.median_seconds()), range,
                     format_count(std::llround(times.samples_per_second())),
                     format_significant(times.microseconds_per_sample(), 4));
}

std::set<int64_t> untimed_batches(const Batches& batches) { return {0, batches.batches_per_epoch() - 1}; }

}  // namespace rnnlab
