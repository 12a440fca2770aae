// SPDX-License-Identifier: Apache-2.0
// Adam (Kingma and Ba 2015), where weight decay adds weight_decay * w to the gradient, and AdamW (Loshchilov and Hutter
// 2019), where it subtracts learning_rate * weight_decay * w from the weight.
//
// One kernel of our own updates all parameters on a GPU, and one vectorised pass of LibTorch's operator on a CPU. The
// step count is a tensor on the device of the weights; torch::optim's version counts on the host.
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "layers/device/run_kernels.h"
#include "train/loop/kernels/optimizer.h"
#include "train/loop/optimizer.h"
#include "train/loop/step_record.h"

namespace rnnlab {
namespace {

// Returns whether two tensors of one shape have the same order of elements in memory.
bool share_order(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t i = 0; i < a.dim(); ++i)
    if (a.size(i) != 1 && a.stride(i) != b.stride(i)) return false;
  return true;
}

// Returns the gradients with their elements in the memory order of the weights; copies are rarely necessary.
std::vector<at::Tensor> in_the_order_of(at::TensorList weights, at::TensorList gradients) {
  std::vector<at::Tensor> ordered = gradients.vec();
  for (size_t i = 0; i < ordered.size(); ++i)
    if (!share_order(ordered[i], weights[i])) ordered[i] = at::empty_like(weights[i]).copy_(ordered[i]);
  return ordered;
}

using kernels::Decay;

// Both differ only in their decay.
template <Decay kDecay>
class Adam : public Optimizer {
 public:
  Adam(const TrainingSettings& settings, std::vector<NamedTensor> parameters)
      : Optimizer(std::move(parameters)),
        beta1_(settings.beta1),
        beta2_(settings.beta2),
        epsilon_(settings.epsilon),
        weight_decay_(settings.weight_decay),
        exp_avg_(zeros_like_parameters()),
        exp_avg_sq_(zeros_like_parameters()),
        step_(at::zeros({}, this->parameters().front().tensor.options().dtype(at::kFloat).requires_grad(false))),
        num_ended_(at::zeros_like(step_, at::kInt)),
        steps_(exp_avg_.size(), step_) {}

  std::vector<NamedTensor> state() const override {
    std::vector<NamedTensor> named{{"step", step_}};
    append_named(exp_avg_, "exp_avg", named);
    append_named(exp_avg_sq_, "exp_avg_sq", named);
    return named;
  }

 private:
  void update(at::TensorList weights, at::TensorList gradients, const LearningRate& learning_rate,
              const std::optional<at::Tensor>& found_inf, const at::Tensor& gradient_scale) override {
    const auto* on_device = std::get_if<at::Tensor>(&learning_rate);
    if (on_device != nullptr && can_use_own_kernels(weights) && can_use_own_kernels(gradients))
      return update_by_own_kernels(weights, gradients, *on_device, found_inf, gradient_scale);
    scale_in_place(gradients, gradient_scale);
    std::visit([&](const auto& rate) { update_with(weights, gradients, rate, found_inf); }, learning_rate);
  }

  // LibTorch's operator gives each block so many elements that a large GPU is partly idle: it takes 69 us for 3.2
  // million weights on an H200, although the memory needs only 22 us.
  void update_by_own_kernels(at::TensorList weights, at::TensorList gradients, const at::Tensor& learning_rate,
                             const std::optional<at::Tensor>& found_inf, const at::Tensor& gradient_scale) {
    const std::vector<at::Tensor> aligned = in_the_order_of(weights, gradients);
    std::vector<kernels::AdamTensor> tensors;
    tensors.reserve(weights.size());
    for (size_t i = 0; i < weights.size(); ++i)
      tensors.push_back({.weight = weights[i].mutable_data_ptr<float>(),
                         .gradient = aligned[i].const_data_ptr<float>(),
                         .mean = exp_avg_[i].mutable_data_ptr<float>(),
                         .square = exp_avg_sq_[i].mutable_data_ptr<float>(),
                         .size = weights[i].numel()});
    run_kernels(kernels::AdamUpdate{.tensors = tensors,
                                    .step = step_.mutable_data_ptr<float>(),
                                    .num_ended = static_cast<uint32_t*>(num_ended_.mutable_data_ptr()),
                                    .learning_rate = learning_rate.const_data_ptr<float>(),
                                    .found_inf = found_inf ? found_inf->const_data_ptr<float>() : nullptr,
                                    .gradient_scale =
                                        gradient_scale.defined() ? gradient_scale.const_data_ptr<float>() : nullptr,
                                    .beta1 = beta1_,
                                    .beta2 = beta2_,
                                    .epsilon = epsilon_,
                                    .weight_decay = weight_decay_,
                                    .decay = kDecay},
                step_);
  }

  template <class Rate>
  void update_with(at::TensorList weights, at::TensorList gradients, const Rate& learning_rate,
                   const std::optional<at::Tensor>& found_inf) {
    step_.add_(1);
    const std::vector<at::Tensor> ordered = in_the_order_of(weights, gradients);  // as LibTorch's operator requires
    const auto apply = [&](auto&& adam) {
      adam(weights, ordered, exp_avg_, exp_avg_sq_, /*max_exp_avg_sqs=*/at::TensorList(), steps_, learning_rate, beta1_,
           beta2_, weight_decay_, epsilon_, /*amsgrad=*/false, /*maximize=*/false,
           /*grad_scale=*/std::optional<at::Tensor>(), found_inf);
    };
    if constexpr (kDecay == Decay::kOfWeight)
      apply([](const auto&... arguments) { at::_fused_adamw_(arguments...); });
    else
      apply([](const auto&... arguments) { at::_fused_adam_(arguments...); });
    if (found_inf) step_.sub_(*found_inf);
  }

  double beta1_;
  double beta2_;
  double epsilon_;
  double weight_decay_;
  std::vector<at::Tensor> exp_avg_;
  std::vector<at::Tensor> exp_avg_sq_;
  at::Tensor step_;
  at::Tensor num_ended_;           // () int32, for our own kernel
  std::vector<at::Tensor> steps_;  // the operator takes one tensor a parameter; all are the same tensor
};

int64_t num_moments(const TrainingSettings& /*settings*/) { return 2; }

}  // namespace

constinit const OptimizerInfo adam_optimizer = {.make = make_optimizer_of<Adam<Decay::kOfGradient>>,
                                                .num_copies = num_moments,
                                                .keys = {"beta1", "beta2", "epsilon"}};

constinit const OptimizerInfo adamw_optimizer = {.make = make_optimizer_of<Adam<Decay::kOfWeight>>,
                                                 .num_copies = num_moments,
                                                 .keys = {"beta1", "beta2", "epsilon"},
                                                 .weight_decay = "decoupled decay of the weights"};

}  // namespace rnnlab
