// SPDX-License-Identifier: Apache-2.0
// Computes a trained model's loss and metrics on data in the same way as a run's validation, so that equal data, layer
// and device give equal digits, and writes them as text for people and as JSON for programs.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "inference/detailed_metrics.h"
#include "inference/trained_model.h"
#include "training/objective.h"

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

struct ModelEvaluation {
  Metrics metrics;
  PassTimes times;
};

// Returns the first batch and the last batch, which may be smaller: they run before passes are timed (PassTimes).
std::set<int64_t> untimed_batches(const Batches& batches);

// Evaluates the model `num_passes` times; all passes give equal metrics. `samples` must not be empty.
ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples, int64_t num_passes = 1);

// Returns the objective that the model was trained to minimise.
Objective objective_of(const TrainedModel& trained);

// Returns one line on the model, one on the data, one for each metric, one on the time, and one for each entry of
// `machine`. Only the entries of `machine` contain the folders above the run and the data.
std::string evaluation_text(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const MachineFacts& machine = {});

// Returns the same facts as JSON with all digits. Metrics have their names in epochs.csv, without "valid_"; the entries
// of `machine` are below "machine". `details` follow the metrics.
std::string evaluation_json(const TrainedModel& trained, const InferenceData& data, const ModelEvaluation& evaluation,
                            const MachineFacts& machine = {}, const DetailedMetrics& details = {});

// Returns the model, layer and device of the passes, the data, and the times, for the JSON of a result.
nlohmann::ordered_json pass_json(const TrainedModel& trained, const InferenceData& data, const PassTimes& times);

}  // namespace rnnlab
