// SPDX-License-Identifier: Apache-2.0
// Times whole passes of a model over data, as `evaluate` and `predict` report them.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "data/batches.h"

namespace rnnlab {

// The times of passes over data. The device is synchronised before and after each pass. The caller must run a batch of
// each size before the first pass, because libraries load, algorithms are chosen and kernels are compiled in the first
// batch. The time to read the data is left out, and also the upload of data that stay on the device.
struct PassTimes {
  int64_t num_samples = 0;
  std::vector<double> seconds = {};  // of each pass; never empty

  double median_seconds() const;
  double samples_per_second() const;
  double microseconds_per_sample() const;
};

PassTimes time_passes(c10::Device device, int64_t num_samples, int64_t num_passes, const std::function<void()>& pass);

// Returns a text such as "3.2 ms, 1250 samples/s, 800 us a sample". For several passes it has the median and the range:
// "3.2 ms (3.1 ms .. 3.5 ms in 5 passes), ...".
std::string pass_times_text(const PassTimes& times);

// Returns the first batch and the last batch, which may be smaller: they run before passes are timed (PassTimes).
std::set<int64_t> untimed_batches(const Batches& batches);

}  // namespace rnnlab
