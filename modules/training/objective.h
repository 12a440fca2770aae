// SPDX-License-Identifier: Apache-2.0
// Defines the objective of training: a loss and one metric, computed on the device of the outputs without reading from
// it. A step's loss is the mean over its targets, and an epoch's loss is the mean over all its targets, so a short last
// batch has less weight (as in Keras; the mean of batch means, common in PyTorch scripts, would give its samples more
// weight). The targets of a language model are tokens. evaluate() computes both over a set of samples.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "data/dataset.h"
#include "distributed/ranks.h"
#include "models/model.h"
#include "training/batch_loop.h"
#include "training/precision.h"
#include "training/step_record.h"
#include "training/training_settings.h"

namespace rnnlab {

struct CrossEntropyResult {
  at::Tensor loss;       // () mean, differentiable in the logits
  at::Tensor num_right;  // () float32
};

// Computes cross-entropy on a GPU with our own kernels: one pass gives the loss, its gradient and the number of correct
// answers. The loss is not differentiable twice.
// logits: (N, classes) float32, classes: (N) int64, both on one GPU; both must satisfy can_use_own_kernels().
CrossEntropyResult cross_entropy_on_gpu(const at::Tensor& logits, const at::Tensor& classes);

// Holds sums over the targets of any number of steps, on the host.
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

// An optional metric is empty if it does not apply to the task.
struct Metrics {
  double loss = 0.0;
  // This is the share of correct answers. For binary targets an answer is correct if (logit > 0) equals (target >=
  // 0.5).
  std::optional<double> accuracy = std::nullopt;
  std::optional<double> perplexity = std::nullopt;      // exp(loss), language models
  std::optional<double> bits_per_token = std::nullopt;  // loss / ln 2, language models
  // These two metrics apply to MSE. Both are over all targets of all samples, in the targets' own units; if targets
  // were scaled, this is undone.
  std::optional<double> mean_absolute_error = std::nullopt;
  std::optional<double> root_mean_squared_error = std::nullopt;
};

// Converts a scaled error to its target's own units: error times `unit` times the target's weight. The largest weight
// is 1, so a mean of weighted squares is finite if the loss is finite.
struct ErrorUnits {
  double unit = 1.0;
  at::Tensor weights = {};  // (K) float32 on the device; undefined if all weights are 1
};

class Objective {
 public:
  // kAuto selects the loss of the task. Throws UserError kUsage if the loss does not fit the targets.
  Objective(LossKind loss, const Dataset& dataset, c10::Device device);

  // Shapes of output and targets: (B, classes) and (B); (T, B, vocabulary) and (T, B); or (B, K) and (B, K). Computes
  // in float32 for every type of the output. Binary cross-entropy takes logits and any real targets, as in
  // sum(softplus(x) - t x); with targets outside [0, 1] it has no lower bound. `metric_sum` is the number of correct
  // answers (cross-entropies) or the sum of absolute weighted errors (MSE).
  Evaluation evaluate(const at::Tensor& output, const at::Tensor& targets) const;

  Metrics metrics(const Totals& totals) const;
  LossKind loss() const { return loss_; }

 private:
  LossKind loss_;
  Task task_;
  ErrorUnits error_units_;
};

// Computes a model's loss and metric over a set of samples: without dropout and gradients, in the run's precision. The
// sums are those of training, so that both can be compared.

// Returns the work that evaluates one batch in a BatchLoop. Model and objective must outlive the work.
BatchLoop::Work evaluation_work(Model& model, const Objective& objective, Precision precision);

// Evaluates one epoch of `batches` with `loop`, which must have been made of these batches and of evaluation_work().
// Waits for the device at the end and restores the model's mode. If `ranks` is not null, each rank evaluates its share
// of the batches (BatchShare::Kind::kWholeBatches); every rank returns the same totals, bit for bit those of one
// process.
Totals evaluate(Model& model, Batches& batches, BatchLoop& loop, c10::Device device, Ranks* ranks = nullptr);

}  // namespace rnnlab
