// What training minimises and what it reports: a loss and one metric, computed where the outputs are, without reading
// anything back. A step's loss is the mean over its targets; an epoch's is the mean over all its targets, so a short
// last batch weighs what it holds (as in Keras; the mean of batch means, common in PyTorch scripts, would count its
// samples more). A language model's targets are tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "data/dataset.h"
#include "training/step_record.h"
#include "training/training_settings.h"

namespace rnnlab {

// Cross-entropy on a GPU by own kernels, with a gradient: the loss and the count of right answers in one pass. Not
// differentiable twice.

struct CrossEntropyResult {
  at::Tensor loss;       // () mean, differentiable in the logits
  at::Tensor num_right;  // () float32
};

// logits: (N, classes) float32, classes: (N) int64, both on one GPU that suit_own_kernels().
CrossEntropyResult cross_entropy_on_gpu(const at::Tensor& logits, const at::Tensor& classes);

// Sums over the targets of any number of steps, on the host.
struct Totals {
  double loss_sum = 0.0;
  double weighted_loss_sum = 0.0;
  double metric_sum = 0.0;
  int64_t count = 0;

  void add(const StepRow& row);

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("loss_sum", self.loss_sum);
    field("weighted_loss_sum", self.weighted_loss_sum);
    field("metric_sum", self.metric_sum);
    field("count", self.count);
  }
};

// Empty where a metric does not apply.
struct Metrics {
  double loss = 0.0;
  // Share of right answers; for logits: of the right side of 0, a target being 1 from 0.5 on.
  std::optional<double> accuracy = std::nullopt;
  std::optional<double> perplexity = std::nullopt;      // exp(loss), language models
  std::optional<double> bits_per_token = std::nullopt;  // loss / ln 2, language models
  // MSE, over all targets of all samples, in the targets' own units: where targets were scaled, the scaling is undone.
  std::optional<double> mean_absolute_error = std::nullopt;
  std::optional<double> root_mean_squared_error = std::nullopt;
};

// How a scaled error becomes one in its target's own units: times unit and the target's weight. The largest weight is
// 1, so a mean of weighted squares is finite where the loss is.
struct ErrorUnits {
  double unit = 1.0;
  at::Tensor weights = {};  // (K) float32 on the device, or undefined: all are 1
};

class Objective {
 public:
  // kAuto takes what the task asks for. UserError kUsage where loss and targets do not fit.
  Objective(LossKind loss, const Dataset& dataset, c10::Device device);

  // output, targets: (B, classes) and (B); (T, B, vocabulary) and (T, B); or (B, K) and (B, K). Computed in float32,
  // whatever the output is. Binary cross-entropy takes logits and any real target, as in sum(softplus(x) - t x): with
  // targets outside [0, 1] it has no lower bound. The metric's sum is that of right answers (cross-entropies) or of
  // absolute weighted errors (MSE).
  Evaluation evaluate(const at::Tensor& output, const at::Tensor& targets) const;

  Metrics metrics(const Totals& totals) const;
  LossKind loss() const { return loss_; }

 private:
  LossKind loss_;
  Task task_;
  ErrorUnits error_units_;
};

}  // namespace rnnlab
