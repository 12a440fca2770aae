// SPDX-License-Identifier: Apache-2.0
// The numbers of a step: its losses, whether its update was skipped, and the norms of its gradients. They stay on the
// device that computed them, and StepRecord copies them to the host in blocks, so that neither a loss curve nor a check
// for NaN makes the host wait at every step. Clipping uses the same norms.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace rnnlab {

// Holds the results of one batch, on the device that computed them.
struct Evaluation {
  at::Tensor loss;           // () float32, mean over the targets, differentiable
  at::Tensor weighted_loss;  // () float32, the mean of weighted errors (objective.h); equals the loss without weights
  at::Tensor metric_sum;     // () float32, summed over the targets
  int64_t count = 0;         // number of targets: samples, samples times outputs, or tokens
};

// Holds the numbers of a step on the device that computed them: the evaluation, whether the update was skipped, then
// one gradient norm a parameter.
struct EvaluatedStep {
  at::Tensor row;  // (4 + num_gradient_norms) float32
  int64_t count = 0;
};

// `skipped`: () float32, 1 if the loss scale skipped the update; the norms then count as 0.
EvaluatedStep evaluated_step(const Evaluation& evaluation, const at::Tensor& skipped, const at::Tensor& gradient_norms);
// Makes the row of an evaluation without gradients.
EvaluatedStep evaluated_step(const Evaluation& evaluation);

// Holds the numbers of a step on the host.
struct StepRow {
  double loss = 0.0;
  double weighted_loss = 0.0;
  double metric_sum = 0.0;
  bool skipped = false;
  int64_t count = 0;
  std::vector<double> gradient_norms = {};
};

class StepRecord {
 public:
  // The columns are those of kernels::StepNumbers. Another value of a step stays in a tensor of its own on the device,
  // and is read where the trainer reads this record. The record has room for `capacity` rows until take() empties it.
  StepRecord(int64_t num_gradient_norms, at::Device device, int64_t capacity = 4096);

  // Copies the rows, (n, 4 + num_gradient_norms) for n steps with these counts of targets.
  void append(const at::Tensor& rows, const std::vector<int64_t>& counts);

  bool full() const { return room() == 0; }
  int64_t room() const { return capacity_ - size(); }
  int64_t size() const { return static_cast<int64_t>(counts_.size()); }

  // Waits for the device and empties the record.
  std::vector<StepRow> take();

  // Returns the loss of a row that was appended since the record was empty. Waits for the device.
  double loss(int64_t row) const;

 private:
  int64_t capacity_;
  at::Tensor rows_;  // (capacity, 4 + num_gradient_norms)
  std::vector<int64_t> counts_;
};

// Computes the numbers of a training step between the gradients and the update: its row, whether a number is not
// finite, and the factor by which clipping scales the gradients (Pascanu et al. 2013). Nothing is read from the device.

// Returns whether our own kernels (kernels/) can take the tensors: all are float32, dense, and on one GPU for which
// this build has the kernels. layers/device/run_kernels.h starts them.
bool can_use_own_kernels(at::TensorList tensors);

// The functions below compute norms and clip all gradients at once, with multi-tensor operators and without waiting for
// the device. These functions do not check for NaN or Inf; train_step.h does.

// Returns the Euclidean norm of each gradient, (number of gradients).
at::Tensor gradient_norms(at::TensorList gradients);

// What an exchange tells of the gradients that it has summed, for kernels::Norms; undefined if there is nothing to
// tell.
struct SummedGradients {
  at::Tensor clock;
  at::Tensor norm_parts;
};

// Returns the factor for all gradients: min(1, max_norm / (total + 1e-6)), where total is the norm of `norms` (Pascanu
// et al. 2013). With the 1e-6, gradients that are all zero do not become NaN; PyTorch adds the same.
at::Tensor clip_scale(const at::Tensor& norms, double max_norm);

// Clamps every element in place to [-limit, limit].
void clip_by_value(at::TensorList gradients, double limit);

struct StepSummary {
  EvaluatedStep step;
  at::Tensor clip_scale;  // (), undefined without clipping by norm
};

// `skipped`: () float32, or undefined if there is no loss scale that skips updates; the norms of a skipped step count
// as 0. `found_inf`: () float32, set to 1 if a number of the row is not finite, and never set to 0.
StepSummary summarize_step(at::TensorList gradients, const Evaluation& evaluation, const at::Tensor& skipped,
                           at::Tensor& found_inf, const std::optional<double>& max_norm,
                           const SummedGradients& summed = {});

}  // namespace rnnlab
