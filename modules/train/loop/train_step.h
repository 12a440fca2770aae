// SPDX-License-Identifier: Apache-2.0
// Makes one optimiser update: forward and backward over one batch or several, clipping, the update, and the step's
// numbers. Everything is queued on the device and nothing is read from it. The first loss or gradient that is not
// finite sets a flag that stays set: from then on no update is applied, so when the host reads the flag, the weights
// are still the last good ones. In fp16 a gradient that is too large for its loss scale only skips one update.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "data/batches.h"
#include "layers/parameters.h"
#include "train/loop/gradient_exchange.h"
#include "train/loop/objective.h"
#include "train/loop/optimizer.h"
#include "train/loop/precision.h"
#include "train/loop/step_record.h"
#include "train/loop/training_settings.h"
#include "train/models/model.h"

namespace rnnlab {

// Implements dynamic loss scaling for float16 (Micikevicius et al. 2018, arXiv 1710.03740): the loss is multiplied
// before the backward pass so that small gradients do not vanish, and the gradients are divided before they are used.
// If a gradient overflows, the update is skipped and the scale halves; after 2000 good steps in a row it doubles. The
// scale is on the device and the host does not read it, so a CUDA graph can hold it.
class LossScale {
 public:
  explicit LossScale(c10::Device device);

  // Returns the scale, () float32: at first 65536, and always a power of two, so that scaling does not round.
  const at::Tensor& value() const { return value_; }

  // Returns both tensors of the scale, not copies: "loss_scale.value" and "loss_scale.good_steps".
  std::vector<NamedTensor> state() const;

  // Divides the gradients in place by the scale and then updates the scale for the next step. Returns () float32: 1 if
  // a gradient overflowed and a smaller scale may prevent that, else 0. At a scale of 1 or less the scale does not
  // cause an overflow.
  at::Tensor unscale(at::TensorList gradients);

 private:
  at::Tensor value_;
  at::Tensor good_steps_;  // () int32, good steps in a row
};

// Is called with the evaluation after the forward pass.
using BeforeBackward = std::function<void(const Evaluation&)>;

// Runs one forward pass in the run's precision, and one backward pass from the loss (times `scale`, () float32, if it
// is defined), which adds to the gradients. Returns the loss in float32, computed outside autocast, without the scale
// and detached.
Evaluation backpropagate(Model& model, const Batch& batch, const Objective& objective, Precision precision,
                         const at::Tensor& scale = {}, const BeforeBackward& before_backward = {});

class TrainStep {
 public:
  // `model` must be on `device` already, and must outlive this object.
  TrainStep(Model& model, Objective objective, const TrainingSettings& settings, Precision precision,
            c10::Device device);

  ~TrainStep();
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  // Call this function before the first step. If there are several ranks, or shards, each step is then cut into them.
  // `seed` is the seed of dropout, for which each epoch draws its own numbers, or each shard of each step.
  void enable_exchange(const ExchangeOptions& options, uint64_t seed);

  // Call this function at the beginning of each new epoch, from 1.
  void begin_epoch(int64_t epoch) const;

  // Sets the number of the next step, or of the first step of those that are queued together, from 1. With an exchange,
  // the masks of dropout depend on this number.
  void set_step_number(int64_t step);

  void set_learning_rates(std::span<const double> rates) { optimizer_->set_learning_rates(rates); }

  // The gradient is that of the mean loss over the targets of all `batches`, however they are cut. `slot` is the index
  // of the learning rate. The call can be captured in a CUDA graph.
  EvaluatedStep run(std::span<const Batch> batches, int64_t slot = 0);

  const Optimizer& optimizer() const { return *optimizer_; }

  // These functions are those of the exchange (GradientExchange). Without one, the requests are the `own` one, and
  // there are no seconds and nothing to measure.
  void request_stop(double reason) { exchange_ ? exchange_->request_stop(reason) : void(); }
  void clear_stop_requests() { exchange_ ? exchange_->clear_stop_requests() : void(); }
  std::optional<std::vector<double>> stop_requests(double own) {
    return exchange_ ? exchange_->stop_requests(own) : std::vector{own};
  }
  std::optional<double> take_exchange_seconds() { return exchange_ ? exchange_->take_seconds() : std::nullopt; }
  std::optional<GradientExchange::Alone> measure_exchange() {
    return exchange_ ? std::optional(exchange_->measure()) : std::nullopt;
  }

  // Returns the optimiser's state, in fp16 that of the loss scale, and the states that a language model carries: all
  // tensors, besides the weights, on which the next step depends. The tensors are not copies.
  std::vector<NamedTensor> state() const;

 private:
  void set_gradient_sink(GradientSink* sink);  // of the model's recurrent layers
  Evaluation backpropagate_all(std::span<const Batch> batches);
  Evaluation backpropagate_shards(std::span<const Batch> batches, int64_t slot);
  void backpropagate_shard(std::span<const Batch> batches, int64_t shard);
  Evaluation backpropagate_one(const Batch& batch, double share, const BeforeBackward& before_backward = {});
  at::Tensor scale_of(double share);
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
  std::map<double, at::Tensor> shares_;  // () float32: numbers on the device
  std::optional<GradientExchange> exchange_;
  uint64_t seed_ = 0;  // of dropout
  int64_t step_number_ = 0;
};

// Returns the parameters of a module in registration order.
std::vector<NamedTensor> named_parameters(const torch::nn::Module& module);

}  // namespace rnnlab
