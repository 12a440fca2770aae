// SPDX-License-Identifier: Apache-2.0
// RMSprop (Hinton, Srivastava and Swersky, lecture 6e of Neural Networks for Machine Learning, 2012): s = alpha * s +
// (1 - alpha) * g^2, and the step g / (sqrt(s) + epsilon) in place of SGD's g. Weight decay adds weight_decay * w to g.
// LibTorch has no operator for its whole update, unlike for those of the others.
#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <utility>

#include "train/loop/optimizer.h"

namespace rnnlab {
namespace {

class RmsProp : public Optimizer {
 public:
  RmsProp(const TrainingSettings& settings, std::vector<NamedTensor> parameters)
      : Optimizer(std::move(parameters)),
        alpha_(settings.alpha),
        epsilon_(settings.epsilon),
        momentum_(settings.momentum),
        weight_decay_(settings.weight_decay),
        square_avg_(zeros_like_parameters()) {
    if (momentum_ != 0.0) velocity_ = zeros_like_parameters();
  }

  std::vector<NamedTensor> state() const override {
    std::vector<NamedTensor> named;
    append_named(square_avg_, "square_avg", named);
    append_named(velocity_, "momentum_buffer", named);
    return named;
  }

 private:
  void update(at::TensorList weights, at::TensorList gradients, const LearningRate& learning_rate,
              const std::optional<at::Tensor>& found_inf, const at::Tensor& gradient_scale) override {
    scale_in_place(gradients, gradient_scale);
    std::visit([&](const auto& rate) { update_with(weights, gradients, rate, found_inf); }, learning_rate);
  }

  template <class Rate>
  void update_with(at::TensorList weights, at::TensorList gradients, const Rate& learning_rate,
                   const std::optional<at::Tensor>& found_inf) {
    for (size_t i = 0; i < weights.size(); ++i) {
      const at::Tensor step = step_of(i, decayed(weights[i], gradients[i]), found_inf);
      replace(weights[i], weights[i].sub(step.mul(learning_rate)), found_inf);
    }
  }

  at::Tensor decayed(const at::Tensor& weight, const at::Tensor& gradient) const {
    return weight_decay_ == 0.0 ? gradient : gradient.add(weight, weight_decay_);
  }

  // Updates the state, and returns what the learning rate multiplies.
  at::Tensor step_of(size_t i, const at::Tensor& gradient, const std::optional<at::Tensor>& found_inf) const {
    const at::Tensor square = square_avg_[i].mul(alpha_).addcmul_(gradient, gradient, 1.0 - alpha_);
    at::Tensor step = gradient.div(square.sqrt().add_(epsilon_));
    replace(square_avg_[i], square, found_inf);
    if (momentum_ == 0.0) return step;
    step.add_(velocity_[i], momentum_);
    replace(velocity_[i], step, found_inf);
    return step;
  }

  // The old value is selected, and not multiplied by 0, where the flag is set: the new one may be NaN.
  static void replace(const at::Tensor& old, const at::Tensor& value, const std::optional<at::Tensor>& found_inf) {
    old.copy_(found_inf ? at::where(found_inf->gt(0), old, value) : value);
  }

  double alpha_;
  double epsilon_;
  double momentum_;
  double weight_decay_;
  std::vector<at::Tensor> square_avg_;
  std::vector<at::Tensor> velocity_;
};

}  // namespace

constinit const OptimizerInfo rmsprop_optimizer = {
    .make = make_optimizer_of<RmsProp>,
    .num_copies = [](const TrainingSettings& settings) { return 1 + num_velocities(settings); },
    .keys = {"momentum", "alpha", "epsilon"}};

}  // namespace rnnlab
