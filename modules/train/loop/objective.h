// SPDX-License-Identifier: Apache-2.0
// Defines the objective of training: a loss and one metric, computed on the device of the outputs without reading from
// it. A step's loss is the mean over its targets, and an epoch's loss is the mean over all its targets, so a short last
// batch has less weight (as in Keras; the mean of batch means, common in PyTorch scripts, would give its samples more
// weight). The targets of a language model are tokens. evaluate() computes both over a set of samples.
#pragma once

#include <ATen/core/Tensor.h>

#include "data/dataset.h"
#include "results/metrics.h"
#include "train/loop/batch_loop.h"
#include "train/loop/losses.h"
#include "train/loop/precision.h"
#include "train/loop/score_metrics.h"
#include "train/loop/step_record.h"
#include "train/loop/training_settings.h"
#include "train/models/model.h"
#include "train/ranks/ranks.h"

namespace rnnlab {

// Computes a loss on a GPU with our own kernels: one pass gives the loss, its gradient and the metric. The loss is
// differentiable in the output, not in the targets, and not twice.
// kCrossEntropy: (N, classes) float32 and (N) int64, both on one GPU; the output must satisfy can_use_own_kernels().
// Losses with an own kernel (losses.h): float32 of one shape; together both must satisfy can_use_own_kernels().
Evaluation evaluate_on_gpu(LossKind loss, const at::Tensor& output, const at::Tensor& targets);

// Returns the gradient of a loss that nothing scales, () float32 1. It is always the same tensor of a device, so a loss
// that finds it need not multiply by it.
const at::Tensor& unscaled_gradient(c10::Device device);

void add_row(const StepRow& row, Totals& totals);

// Converts a scaled error to its target's own units: error times `unit` times the target's weight. The largest weight
// is 1, so a mean of weighted squares is finite if the loss is finite.
struct ErrorUnits {
  double unit = 1.0;
  at::Tensor weights = {};  // (K) float32 on the device; undefined if all weights are 1
};

class Objective {
 public:
  // Throws UserError kUsage if the loss does not fit the targets.
  Objective(const TrainingSettings& settings, const FittedData& data, c10::Device device);

  // Multiplies the loss of each target by the weight of its class from now on: weights (classes) float32 on the device.
  // The mean is still over the number of targets, as in Keras, and not over the sum of their weights, as in PyTorch, so
  // a step that is cut into parts has the same gradient.
  void weight_classes(at::Tensor weights) { class_weights_ = std::move(weights); }

  // Shapes of output and targets: (B, classes) and (B), or (B, K) and (B, K); of each step (T, B, classes) and (T, B),
  // or (T, B, K) and (T, B, K), where a distribution (losses.h) has K * P outputs. Steps beyond a sequence's length do
  // not count. Computes in float32 for every type of the output. Binary cross-entropy takes logits and any real
  // targets, as in sum(softplus(x) - t x); with targets outside [0, 1] it has no lower bound. Missing targets
  // (Batch::target_counts) do not count: their losses, gradients and metrics are 0, and means are over the others.
  // `metric_sum` is the number of correct answers (cross-entropies) or the sum of absolute weighted errors (losses of
  // numbers). For binary targets an answer is correct if (logit > 0) equals (target >= 0.5).
  Evaluation evaluate(const at::Tensor& output, const Batch& batch) const;

  // Returns the metrics of the task by their names in the list (results/metrics.h). Errors are over all targets of all
  // samples, in the targets' own units; if targets were scaled, this is undone.
  MetricValues metrics(const Totals& totals) const;
  const Loss& loss() const { return loss_; }
  MetricTask task() const { return task_; }

 private:
  at::Tensor error_weights(const Batch& batch) const;

  Loss loss_;
  MetricTask task_;
  ErrorUnits error_units_;
  at::Tensor class_weights_ = {};  // undefined: all classes have the weight 1
};

// Returns weights (classes) float32 on the CPU that give all classes the same influence: the number of targets over the
// number of classes and the number of targets of the class. Their mean over the targets is 1. A class without targets
// has the weight 0. Source: the heuristic of King and Zeng, Logistic Regression in Rare Events Data (2001).
at::Tensor balanced_class_weights(const Samples& samples, int64_t num_classes);

// Computes a model's loss and metric over a set of samples: without dropout and gradients, in the run's precision. The
// sums are those of training, so that both can be compared.

// Returns the work that evaluates one batch in a BatchLoop, and adds its outputs to `scores` unless that is null or has
// no metrics; such work waits for the device, so its loop must not replay graphs. All arguments must outlive the work.
BatchLoop::Work evaluation_work(Model& model, const Objective& objective, Precision precision,
                                ScoreMetrics* scores = nullptr);

// Evaluates one epoch of `batches` with `loop`, which must have been made of these batches and of evaluation_work().
// Waits for the device at the end and restores the model's mode. If there are several `ranks`, each evaluates its share
// of the batches (BatchShare::Kind::kWholeBatches); every rank returns the same totals, bit for bit those of one
// process.
Totals evaluate(Model& model, Batches& batches, BatchLoop& loop, c10::Device device, Ranks& ranks = sole_rank());

}  // namespace rnnlab
