// SPDX-License-Identifier: Apache-2.0
// Predicts each sample with a trained model. The result has the raw outputs, and their interpretation: classes with
// probabilities, or values in the units of the targets. prediction_files.h writes it.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "runs/use/trained_model.h"

namespace rnnlab {

enum class PredictionKind {
  kClasses,        // one of several
  kProbabilities,  // yes or no for each target
  kValues,
};

// N samples, or steps of samples if each step has a target, in the order of the samples; K classes or targets.
struct Predictions {
  PredictionKind kind = PredictionKind::kClasses;
  std::vector<std::string> names;  // of the K classes or targets
  at::Tensor raw;                  // (N, outputs of the model) float32: the result of the output layer
  at::Tensor values;               // (N, K) float64: probabilities, or values in the units of the targets
  at::Tensor targets;  // (N) int64 classes, -1 unknown; (N, K) float64, NaN unknown; undefined if there are no targets
  std::vector<double> levels = {};       // (L): of forecast quantiles; empty unless the loss is of a distribution
  at::Tensor quantiles = {};             // (N, K, L) float64, in the units of the targets
  PassTimes times = {};                  // of computing `raw`, including the copy to the host
  std::vector<ColumnScale> scales = {};  // from scaled values to units of the targets, one a target; empty if unscaled
  std::string row = "sample";            // what each of the N rows is: "sample", or "step" if each step has a target
};

// Returns what raw outputs (N, outputs of the model) float32 on the CPU mean, without times and targets. `samples` says
// what the outputs are relative to.
Predictions predictions_of(const TrainedModel& trained, const at::Tensor& raw, const Samples& samples);

// Language models are refused (see generate_text.h). Batches have training.valid_batch_size samples. All passes give
// equal outputs.
Predictions predict(const TrainedModel& trained, const Samples& samples, int64_t num_passes = 1);

}  // namespace rnnlab
