// A trained model's loss and metrics on data: computed as a run's validation is, so that the same data, layer and
// device give the same digits.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "inference/trained_model.h"
#include "training/objective.h"

namespace rnnlab {

// How long passes over data take: the device is waited for before each and after it, and the caller has run a batch
// of each size before the first, for libraries load, algorithms are chosen and kernels are compiled then. Reading the
// data and, where they fit there, their way to the device are left out.

struct PassTimes {
  int64_t num_samples = 0;
  std::vector<double> seconds = {};  // of each pass; never empty

  double median_seconds() const;
  double samples_per_second() const;
  double microseconds_per_sample() const;
};

PassTimes time_passes(c10::Device device, int64_t num_samples, int64_t num_passes, const std::function<void()>& pass);

// "3.2 ms, 1250 samples/s, 800 us a sample"; of several passes the median, and the range: "3.2 ms (3.1 ms .. 3.5 ms in
// 5 passes), ...".
std::string pass_times_text(const PassTimes& times);

struct ModelEvaluation {
  Metrics metrics;
  PassTimes times;
};

// The first batch and the last one, which may be smaller: what runs before passes are timed (evaluate_model.h).
std::set<int64_t> untimed_batches(const Batches& batches);

// All passes give the same metrics. UserError kData where there are no samples.
ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples, int64_t num_passes = 1);

// What the model was trained to minimise.
Objective objective_of(const TrainedModel& trained);

}  // namespace rnnlab
