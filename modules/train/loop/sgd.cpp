// SPDX-License-Identifier: Apache-2.0
// SGD with momentum: v = momentum * v + g and w -= learning_rate * v, as PyTorch does (Keras multiplies the rate into
// the velocity v). Weight decay adds weight_decay * w to the gradient. LibTorch's operator updates all parameters in
// one kernel on a GPU, and in one vectorised pass on a CPU.
#include <ATen/ops/_fused_sgd.h>

#include <utility>

#include "train/loop/optimizer.h"

namespace rnnlab {
namespace {

class Sgd : public Optimizer {
 public:
  Sgd(const TrainingSettings& settings, std::vector<NamedTensor> parameters)
      : Optimizer(std::move(parameters)), momentum_(settings.momentum), weight_decay_(settings.weight_decay) {
    if (momentum_ != 0.0) velocity_ = zeros_like_parameters();
  }

  std::vector<NamedTensor> state() const override {
    std::vector<NamedTensor> named;
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
    // The velocity starts at zero, so the first step is not a special case.
    at::_fused_sgd_(weights, gradients, velocity_, weight_decay_, momentum_, learning_rate, /*dampening=*/0.0,
                    /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false, /*grad_scale=*/{}, found_inf);
  }

  double momentum_;
  double weight_decay_;
  std::vector<at::Tensor> velocity_;
};

}  // namespace

constinit const OptimizerInfo sgd_optimizer = {
    .make = make_optimizer_of<Sgd>, .num_copies = num_velocities, .keys = {"momentum"}};

}  // namespace rnnlab
