// One optimiser update: forward and backward over one batch or several, clipping, the update, and the step's numbers.
// Everything is queued on the device and nothing is read back. The first loss or gradient that is not finite raises a
// flag that stays up: from then on no update is applied, so when the host learns of it, the weights are still the last
// good ones. In fp16 a gradient that is too large for its loss scale only costs that one update.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/batches.h"
#include "models/model.h"
#include "training/gradient_exchange.h"
#include "training/named_tensor.h"
#include "training/objective.h"
#include "training/optimizer.h"
#include "training/precision.h"
#include "training/step_record.h"
#include "training/training_settings.h"

namespace rnnlab {

// Dynamic loss scaling for float16 (Micikevicius et al. 2018, arXiv 1710.03740): the loss is multiplied before the
// backward pass so that small gradients do not vanish, and the gradients are divided before they are used. Where one
// overflows, the update is left out and the scale halves; after 2000 good steps in a row it doubles. Lives on the
// device and reads nothing back, so a CUDA graph can hold it.

class LossScale {
 public:
  explicit LossScale(c10::Device device);

  // () float32, from 65536; a power of two, so that it costs no rounding.
  const at::Tensor& value() const { return value_; }

  // Both its tensors, not copies: "loss_scale.value" and "loss_scale.good_steps".
  std::vector<NamedTensor> state() const;

  // Divides the gradients in place by the scale and then changes it for the next step. () float32: 1 where a gradient
  // overflowed and a smaller scale may mend that, else 0. At a scale of 1 or less an overflow is the gradient's own.
  at::Tensor unscale(at::TensorList gradients);

 private:
  at::Tensor value_;
  at::Tensor good_steps_;  // () int32, in a row
};

class TrainStep {
 public:
  // `model` must be on `device` already, and outlive this.
  TrainStep(Model& model, const Objective& objective, const TrainingSettings& settings, Precision precision,
            c10::Device device);

  // Before the first step: from now on each step is one of several ranks (null: of this process alone), or of
  // settings.shards. `seed`: of dropout, which each shard of each step draws by itself. As GradientExchange.
  void exchange_with(Ranks* ranks, uint64_t seed, int64_t targets_per_sample);

  // Of the next step, or the first of those that are queued together: from 1. The masks of dropout depend on it where
  // there is an exchange.
  void set_number(int64_t step);

  void set_learning_rates(std::span<const double> rates) { optimizer_->set_learning_rates(rates); }

  // The gradient is that of the mean loss over the targets of all `batches`, however they are cut. `place`: which of
  // the learning rates counts. Can be captured in a CUDA graph.
  EvaluatedStep run(std::span<const Batch> batches, int64_t place = 0);

  const Optimizer& optimizer() const { return *optimizer_; }
  GradientExchange* exchange() { return exchange_ ? &*exchange_ : nullptr; }  // null where one process trains alone

  // The optimiser's state and, in fp16, the loss scale's: all tensors, besides the weights, that the next step depends
  // on. Not copies.
  std::vector<NamedTensor> state() const;

 private:
  Evaluation backpropagate_all(std::span<const Batch> batches);
  Evaluation backpropagate_shards(std::span<const Batch> batches, int64_t place);
  Evaluation backpropagate_shard(std::span<const Batch> batches, int64_t shard);
  Evaluation backpropagate_one(const Batch& batch, double share);
  at::Tensor unscale(at::TensorList gradients);
  at::Tensor clip(at::TensorList gradients, const at::Tensor& scale) const;

  Model& model_;
  Objective objective_;
  Precision precision_;
  c10::Device device_;
  std::optional<double> clip_norm_;
  std::optional<double> clip_value_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<LossScale> loss_scale_;  // in fp16
  at::Tensor found_inf_;
  at::Tensor one_;
  std::optional<int64_t> shards_;
  std::optional<GradientExchange> exchange_;
  uint64_t seed_ = 0;  // of dropout, where there is an exchange
  int64_t number_ = 0;
};

// One forward pass in the run's precision, and one backward pass from the loss (times `scale`, () float32, where that
// is defined): adds to the gradients. The loss itself is float32, outside autocast, and comes back whole and detached.
Evaluation backpropagate(Model& model, const Batch& batch, const Objective& objective, Precision precision,
                         const at::Tensor& scale = {});

// Of a module, in registration order.
std::vector<NamedTensor> named_parameters(const torch::nn::Module& module);

}  // namespace rnnlab
