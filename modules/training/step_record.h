// Keeps the numbers of every step on the device that computed them and copies them to the host in blocks, so that
// neither a loss curve nor a check for NaN makes the host wait at every step.
#pragma once

#include <ATen/core/Tensor.h>

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
  // The record has room for `capacity` rows until take() empties it.
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

}  // namespace rnnlab
