#include "training/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "base/error.h"

namespace rnnlab {
namespace {

class Sgd : public Optimizer {
 public:
  Sgd(const TrainingSettings& settings, std::vector<NamedTensor> parameters)
      : Optimizer(std::move(parameters)), momentum_(settings.momentum), weight_decay_(settings.weight_decay) {
    if (momentum_ != 0.0) velocity_ = zeros_like_parameters();
  }

 private:
  void update(at::TensorList weights, at::TensorList gradients, double learning_rate,
              const std::optional<at::Tensor>& found_inf) override {
    // The velocity starts at zero, so the first step needs no case of its own.
    at::_fused_sgd_(weights, gradients, velocity_, weight_decay_, momentum_, learning_rate, /*dampening=*/0.0,
                    /*nesterov=*/false, /*maximize=*/false,
                    /*is_first_step=*/false, /*grad_scale=*/{}, found_inf);
  }

  double momentum_;
  double weight_decay_;
  std::vector<at::Tensor> velocity_;
};

class Adam : public Optimizer {
 public:
  Adam(const TrainingSettings& settings, std::vector<NamedTensor> parameters)
      : Optimizer(std::move(parameters)),
        operator_(settings.optimizer == OptimizerKind::kAdamW ? at::_ops::_fused_adamw_::call
                                                              : at::_ops::_fused_adam_::call),
        beta1_(settings.beta1),
        beta2_(settings.beta2),
        epsilon_(settings.epsilon),
        weight_decay_(settings.weight_decay),
        exp_avg_(zeros_like_parameters()),
        exp_avg_sq_(zeros_like_parameters()),
        step_(at::zeros({}, this->parameters().front().tensor.options().dtype(at::kFloat).requires_grad(false))),
        steps_(exp_avg_.size(), step_) {}

 private:
  void update(at::TensorList weights, at::TensorList gradients, double learning_rate,
              const std::optional<at::Tensor>& found_inf) override {
    step_.add_(1);
    operator_(weights, gradients, exp_avg_, exp_avg_sq_, /*max_exp_avg_sqs=*/{}, steps_, learning_rate, beta1_, beta2_,
              weight_decay_, epsilon_,
              /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{}, found_inf);
    if (found_inf) step_.sub_(*found_inf);
  }

  decltype(&at::_ops::_fused_adam_::call) operator_;
  double beta1_;
  double beta2_;
  double epsilon_;
  double weight_decay_;
  std::vector<at::Tensor> exp_avg_;
  std::vector<at::Tensor> exp_avg_sq_;
  at::Tensor step_;
  std::vector<at::Tensor> steps_;  // the operator wants one a parameter: all are the same tensor
};

}  // namespace

Optimizer::Optimizer(std::vector<NamedTensor> parameters) : parameters_(std::move(parameters)) {
  RNNLAB_INVARIANT(!parameters_.empty(), "an optimiser without parameters");
  for (const auto& parameter : parameters_) weights_.push_back(parameter.tensor);
}

void Optimizer::step(double learning_rate, const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  const auto flag = found_inf.defined() ? std::optional<at::Tensor>(found_inf) : std::nullopt;
  update(weights_, gradients(), learning_rate, flag);
}

void Optimizer::zero_grad() {
  for (auto& weight : weights_) weight.mutable_grad().reset();
}

std::vector<at::Tensor> Optimizer::gradients() const {
  std::vector<at::Tensor> gradients;
  gradients.reserve(weights_.size());
  for (const auto& weight : weights_) gradients.push_back(weight.grad());
  return gradients;
}

std::vector<at::Tensor> Optimizer::zeros_like_parameters() const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> zeros;
  for (const auto& weight : weights_) zeros.push_back(at::zeros_like(weight));
  return zeros;
}

std::unique_ptr<Optimizer> make_optimizer(const TrainingSettings& settings, std::vector<NamedTensor> parameters) {
  if (settings.optimizer == OptimizerKind::kSgd) return std::make_unique<Sgd>(settings, std::move(parameters));
  return std::make_unique<Adam>(settings, std::move(parameters));
}

}  // namespace rnnlab
