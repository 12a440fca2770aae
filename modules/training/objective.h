// What training minimises and what it reports: a loss and one metric, computed where the outputs are, without reading
// anything back. A step's loss is the mean over its targets; an epoch's is the mean over all its targets, so a short
// last batch weighs what it holds (as in Keras; the mean of batch means, common in PyTorch scripts, would count its
// samples more). A language model's targets are tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "data/dataset.h"
#include "training/training_settings.h"

namespace rnnlab {

struct Evaluation {
  at::Tensor loss;  // () float32, mean over the targets, differentiable
  at::Tensor
      metric_sum;  // () float32: right answers (cross-entropies) or absolute errors (MSE), summed over the targets
  int64_t count;   // targets: samples, samples times outputs, or tokens
};

// Sums over the targets of any number of steps, on the host.
struct Totals {
  double loss_sum = 0.0;
  double metric_sum = 0.0;
  int64_t count = 0;

  void add(double mean_loss, double metric, int64_t num_targets);
};

// Empty where a metric does not apply.
struct Metrics {
  double loss = 0.0;
  std::optional<double>
      accuracy;  // share of right answers; for logits: of the right side of 0, a target being 1 from 0.5 on
  std::optional<double> perplexity;               // exp(loss), language models
  std::optional<double> bits_per_token;           // loss / ln 2, language models
  std::optional<double> mean_absolute_error;      // MSE
  std::optional<double> root_mean_squared_error;  // MSE
};

class Objective {
 public:
  // kAuto takes what the task asks for. UserError kUsage where loss and targets do not fit.
  Objective(LossKind loss, const DataShape& shape);

  // output, targets: (B, classes) and (B); (T, B, vocabulary) and (T, B); or (B, K) and (B, K). Computed in float32,
  // whatever the output is. Binary cross-entropy takes logits and any real target, as in sum(softplus(x) - t x): with
  // targets outside [0, 1] it has no lower bound.
  Evaluation evaluate(const at::Tensor& output, const at::Tensor& targets) const;

  Metrics metrics(const Totals& totals) const;
  LossKind loss() const { return loss_; }

 private:
  LossKind loss_;
  Task task_;
};

}  // namespace rnnlab
