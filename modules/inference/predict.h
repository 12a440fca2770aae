// What a trained model says of each sample: its raw outputs, and what they mean: classes with their probabilities, or
// values in the targets' own units.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "inference/evaluate_model.h"
#include "inference/trained_model.h"

namespace rnnlab {

enum class PredictionKind {
  kClasses,        // one of several
  kProbabilities,  // yes or no for each target
  kValues,
};

// N samples, K outputs.
struct Predictions {
  PredictionKind kind = PredictionKind::kClasses;
  std::vector<std::string> names;  // of the K classes or targets
  at::Tensor raw;                  // (N, K) float32: what the output layer gives
  at::Tensor values;               // (N, K) float64: probabilities, or values in the targets' own units
  at::Tensor targets;              // (N) int64 classes, -1 unknown; (N, K) float64, NaN unknown; undefined: none
  PassTimes times = {};            // of computing `raw`, its way to the host included
};

// Not for language models (generate_text.h). Batches are of training.valid_batch_size. All passes give the same.
Predictions predict(const TrainedModel& trained, const Samples& samples, int64_t num_passes = 1);

}  // namespace rnnlab
