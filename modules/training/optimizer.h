// SPDX-License-Identifier: Apache-2.0
// Optimisers and schedules of the learning rate. The optimisers are SGD with momentum, Adam (Kingma and Ba 2015) and
// AdamW (Loshchilov and Hutter 2019). On a GPU one kernel updates all parameters (Adam has our own kernel); on a CPU
// one vectorised pass does. The step count is a tensor on the device of the weights. torch::optim's versions loop over
// the parameters and count on the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "recurrent/parameters.h"
#include "training/training_settings.h"

namespace rnnlab {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The number of steps that may be queued together, each with its own learning rate.
  static constexpr int64_t kMostStepsAtOnce = 8;

  // Sets the rates of the steps that are queued next, at most kMostStepsAtOnce. On a GPU the rates are a float32 tensor
  // that captured steps read; this call must not be part of a capture.
  void set_learning_rates(std::span<const double> learning_rates);
  void set_learning_rate(double learning_rate) { set_learning_rates({&learning_rate, 1}); }

  // Makes one update from the parameters' gradients, which must all be defined. `found_inf`: () float32 on the same
  // device, or undefined; if it is 1, neither weights nor state change, and the host does not wait to find that out.
  // `gradient_scale`: () on the same device, or undefined; the gradients are multiplied by it, possibly in place.
  // `slot`: the index of the learning rate.
  void step(const at::Tensor& found_inf, const at::Tensor& gradient_scale = {}, int64_t slot = 0);

  // Frees the gradients; the next backward pass writes new ones.
  void zero_grad();

  std::vector<at::Tensor> gradients() const;
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  // Returns the optimiser's own tensors, not copies, with PyTorch's names: "<parameter>.exp_avg",
  // "<parameter>.exp_avg_sq" and one "step" for Adam and AdamW, "<parameter>.momentum_buffer" for SGD with momentum.
  virtual std::vector<NamedTensor> state() const = 0;

 protected:
  explicit Optimizer(std::vector<NamedTensor> parameters);
  std::vector<at::Tensor> zeros_like_parameters() const;
  // Appends one tensor a parameter, named "<parameter>.<suffix>".
  void append_named(const std::vector<at::Tensor>& tensors, const char* suffix, std::vector<NamedTensor>& named) const;

 private:
  // The rate is a number on a CPU and a tensor on a GPU, and LibTorch has an operator for each.
  virtual void update(at::TensorList weights, at::TensorList gradients, double learning_rate,
                      const std::optional<at::Tensor>& found_inf) = 0;
  virtual void update(at::TensorList weights, at::TensorList gradients, const at::Tensor& learning_rate,
                      const std::optional<at::Tensor>& found_inf, const at::Tensor& gradient_scale) = 0;

  std::vector<double> learning_rates_ = std::vector<double>(kMostStepsAtOnce, 0.0);
  at::Tensor learning_rates_on_device_;  // (kMostStepsAtOnce)
  std::vector<NamedTensor> parameters_;
  std::vector<at::Tensor> weights_;
};

// Weight decay adds weight_decay * w to the gradient for sgd and adam; for adamw it subtracts learning_rate *
// weight_decay * w from the weight. SGD computes v = momentum * v + g and w -= learning_rate * v, as PyTorch does
// (Keras multiplies the rate into the velocity v).
std::unique_ptr<Optimizer> make_optimizer(const TrainingSettings& settings, std::vector<NamedTensor> parameters);

// The learning rate is a pure function of the step, so a resumed run needs only its step number. Steps count optimiser
// updates from 0. A linear warm-up comes first; the schedule counts its steps from the end of the warm-up.
struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double learning_rate = 1e-3;
  double minimum = 0.0;
  double decay_rate = 1.0;
  int64_t decay_steps = 1;
  int64_t warmup_steps = 0;
};

// Returns the schedule of `settings`. If the file gives no decay_steps, cosine reaches its minimum at the run's last
// step and inverse_time decays with n = 1. `total_steps` is the number of updates in the whole run, 0 if only time
// bounds it.
Schedule make_schedule(const TrainingSettings& settings, int64_t total_steps);

// With t = step - warmup_steps, r = decay_rate, n = decay_steps:
//   constant      lr
//   step          lr * r^floor(t / n)
//   cosine        min + (lr - min) * (1 + cos(pi * t / n)) / 2, and min from t = n on (Loshchilov and Hutter 2016)
//   inverse_time  lr / (1 + r * t / n), Keras's `decay` with n = 1
//   exponential   lr * r^(t / n)
// The result is never below `minimum`. During warm-up the result is lr * (step + 1) / warmup_steps, without this
// minimum.
double learning_rate_at(const Schedule& schedule, int64_t step);

}  // namespace rnnlab
