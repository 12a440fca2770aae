// A trained model's loss and metrics on data: computed as a run's validation is, so that the same data, layer and
// device give the same digits.
#pragma once

#include "inference/trained_model.h"
#include "training/objective.h"

namespace rnnlab {

struct ModelEvaluation {
  Metrics metrics;
  int64_t num_samples = 0;
  double seconds = 0;  // of computing, without reading the data
};

// UserError kData where there are no samples.
ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples);

// What the model was trained to minimise.
Objective objective_of(const TrainedModel& trained);

}  // namespace rnnlab
