// SGD with momentum, Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019): one kernel for all parameters on
// a GPU, for Adam an own one, and one vectorised pass on a CPU, the step count beside the weights. torch::optim's
// versions loop over the parameters and count on the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "training/named_tensor.h"
#include "training/training_settings.h"

namespace rnnlab {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Steps that may be queued together, each with a learning rate of its own.
  static constexpr int64_t kMostStepsAtOnce = 8;

  // Of the steps that are queued next, at most kMostStepsAtOnce. On a GPU they lie there, in float32, where captured
  // steps find them: this is no part of a capture.
  void set_learning_rates(std::span<const double> learning_rates);
  void set_learning_rate(double learning_rate) { set_learning_rates({&learning_rate, 1}); }

  // One update from the parameters' gradients, which must all be there. `found_inf` (() float32 on the same device, or
  // undefined): where it holds 1, neither weights nor state change; no host synchronisation finds that out.
  // `gradient_scale` (() on the same device, or undefined): gradients count times that, and may be changed so in place.
  // `place`: which of the learning rates counts.
  void step(const at::Tensor& found_inf, const at::Tensor& gradient_scale = {}, int64_t place = 0);

  // Frees the gradients; the next backward pass writes new ones.
  void zero_grad();

  std::vector<at::Tensor> gradients() const;
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  // The optimiser's own tensors, not copies, by PyTorch's words for them: "<parameter>.exp_avg",
  // "<parameter>.exp_avg_sq" and one "step" for Adam and AdamW, "<parameter>.momentum_buffer" for SGD with momentum.
  virtual std::vector<NamedTensor> state() const = 0;

 protected:
  explicit Optimizer(std::vector<NamedTensor> parameters);
  std::vector<at::Tensor> zeros_like_parameters() const;
  // One tensor a parameter, as "<parameter>.<suffix>".
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

// Weight decay adds weight_decay * w to the gradient for sgd and adam, and for adamw takes learning_rate * weight_decay
// * w off the weight. SGD's velocity is v = momentum * v + g, w -= learning_rate * v, as in PyTorch (Keras puts the
// rate inside the velocity).
std::unique_ptr<Optimizer> make_optimizer(const TrainingSettings& settings, std::vector<NamedTensor> parameters);

}  // namespace rnnlab
