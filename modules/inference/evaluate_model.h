// A trained model's loss and metrics on data: computed as a run's validation is, so that the same data, layer and
// device give the same digits.
#pragma once

#include <set>

#include "inference/pass_times.h"
#include "inference/trained_model.h"
#include "training/objective.h"

namespace rnnlab {

struct ModelEvaluation {
  Metrics metrics;
  PassTimes times;
};

// The first batch and the last one, which may be smaller: what runs before passes are timed (pass_times.h).
std::set<int64_t> untimed_batches(const Batches& batches);

// All passes give the same metrics. UserError kData where there are no samples.
ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples, int64_t num_passes = 1);

// What the model was trained to minimise.
Objective objective_of(const TrainedModel& trained);

}  // namespace rnnlab
