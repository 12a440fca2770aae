// SPDX-License-Identifier: Apache-2.0
#include "training/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "recurrent/device/run_kernels.h"
#include "training/kernels/optimizer.h"
#include "training/step_record.h"

namespace rnnlab {
namespace {

void scale_in_place(at::TensorList gradients, const at::Tensor& scale) {
  if (scale.defined()) at::_foreach_mul_(gradients, scale);
}

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
  void update(at::TensorList weights, at::TensorList gradients, double learning_rate,
              const std::optional<at::Tensor>& found_inf) override {
    update_with(weights, gradients, learning_rate, found_inf);
  }
  void update(at::TensorList weights, at::TensorList gradients, const at::Tensor& learning_rate,
              const std::optional<at::Tensor>& found_inf, const at::Tensor& gradient_scale) override {
    scale_in_place(gradients, gradient_scale);
    update_with(weights, gradients, learning_rate, found_inf);
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

class Adam : public Optimizer {
 public:
  Adam(const TrainingSettings& settings, std::vector<NamedTensor> parameters)
      : Optimizer(std::move(parameters)),
        decouples_decay_(settings.optimizer == OptimizerKind::kAdamW),
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
  void update(at::TensorList weights, at::TensorList gradients, double learning_rate,
              const std::optional<at::Tensor>& found_inf) override {
    update_with(weights, gradients, learning_rate, found_inf);
  }
  void update(at::TensorList weights, at::TensorList gradients, const at::Tensor& learning_rate,
              const std::optional<at::Tensor>& found_inf, const at::Tensor& gradient_scale) override {
    if (can_use_own_kernels(weights) && can_use_own_kernels(gradients))
      return update_by_own_kernels(weights, gradients, learning_rate, found_inf, gradient_scale);
    scale_in_place(gradients, gradient_scale);
    update_with(weights, gradients, learning_rate, found_inf);
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
    run_kernels(
        kernels::AdamUpdate{
            .tensors = tensors,
            .step = step_.mutable_data_ptr<float>(),
            .num_ended = static_cast<uint32_t*>(num_ended_.mutable_data_ptr()),
            .learning_rate = learning_rate.const_data_ptr<float>(),
            .found_inf = found_inf ? found_inf->const_data_ptr<float>() : nullptr,
            .gradient_scale = gradient_scale.defined() ? gradient_scale.const_data_ptr<float>() : nullptr,
            .beta1 = beta1_,
            .beta2 = beta2_,
            .epsilon = epsilon_,
            .weight_decay = weight_decay_,
            .decay = decouples_decay_ ? kernels::Decay::kOfWeight : kernels::Decay::kOfGradient},
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
    if (decouples_decay_)
      apply([](const auto&... arguments) { at::_fused_adamw_(arguments...); });
    else
      apply([](const auto&... arguments) { at::_fused_adam_(arguments...); });
    if (found_inf) step_.sub_(*found_inf);
  }

  bool decouples_decay_;
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

}  // namespace

Optimizer::Optimizer(std::vector<NamedTensor> parameters) : parameters_(std::move(parameters)) {
  RNNLAB_INVARIANT(!parameters_.empty(), "an optimiser needs at least one parameter");
  for (const auto& parameter : parameters_) weights_.push_back(parameter.tensor);
  const auto options = weights_.front().options().dtype(at::kFloat).requires_grad(false);
  if (weights_.front().is_cuda()) learning_rates_on_device_ = at::zeros({kMostStepsAtOnce}, options);
}

void Optimizer::set_learning_rates(std::span<const double> learning_rates) {
  const auto count = std::ssize(learning_rates);
  RNNLAB_INVARIANT(count > 0 && count <= kMostStepsAtOnce,
                   "the number of learning rates must be from 1 to kMostStepsAtOnce");
  if (std::equal(learning_rates.begin(), learning_rates.end(), learning_rates_.begin())) return;
  std::copy(learning_rates.begin(), learning_rates.end(), learning_rates_.begin());
  if (!learning_rates_on_device_.defined()) return;
  if (count == 1) {
    learning_rates_on_device_[0].fill_(learning_rates[0]);
    return;
  }
  // The tensor is pinned, so that the host does not wait for the work that is queued on the device.
  const at::Tensor host = at::tensor(at::ArrayRef<double>(learning_rates.data(), learning_rates.size()), at::kFloat);
  learning_rates_on_device_.narrow(0, 0, count).copy_(host.pin_memory(), /*non_blocking=*/true);
}

void Optimizer::step(const at::Tensor& found_inf, const at::Tensor& gradient_scale, int64_t slot) {
  const at::NoGradGuard no_grad;
  const auto flag = found_inf.defined() ? std::optional<at::Tensor>(found_inf) : std::nullopt;
  if (learning_rates_on_device_.defined())
    return update(weights_, gradients(), learning_rates_on_device_[slot], flag, gradient_scale);
  scale_in_place(gradients(), gradient_scale);
  update(weights_, gradients(), learning_rates_.at(static_cast<size_t>(slot)), flag);
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

void Optimizer::append_named(const std::vector<at::Tensor>& tensors, const char* suffix,
                             std::vector<NamedTensor>& named) const {
  for (size_t i = 0; i < tensors.size(); ++i) named.push_back({parameters_[i].name + "." + suffix, tensors[i]});
}

std::unique_ptr<Optimizer> make_optimizer(const TrainingSettings& settings, std::vector<NamedTensor> parameters) {
  if (settings.optimizer == OptimizerKind::kSgd) return std::make_unique<Sgd>(settings, std::move(parameters));
  return std::make_unique<Adam>(settings, std::move(parameters));
}

namespace {

double cosine(const Schedule& schedule, double progress) {
  const double fall = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(progress, 1.0)));
  return schedule.minimum + (schedule.learning_rate - schedule.minimum) * fall;
}

double decayed(const Schedule& schedule, int64_t step) {
  const double progress = static_cast<double>(step) / static_cast<double>(schedule.decay_steps);
  const double base = schedule.learning_rate;
  switch (schedule.kind) {
    case ScheduleKind::kConstant:
      return base;
    case ScheduleKind::kStep:
      return base * std::pow(schedule.decay_rate, std::floor(progress));
    case ScheduleKind::kCosine:
      return cosine(schedule, progress);
    case ScheduleKind::kInverseTime:
      return base / (1.0 + schedule.decay_rate * progress);
    case ScheduleKind::kExponential:
      return base * std::pow(schedule.decay_rate, progress);
  }
  return base;
}

int64_t default_decay_steps(const TrainingSettings& settings, int64_t total_steps) {
  if (settings.schedule != ScheduleKind::kCosine) return 1;
  return std::max<int64_t>(total_steps - settings.warmup_steps, 1);
}

}  // namespace

Schedule make_schedule(const TrainingSettings& settings, int64_t total_steps) {
  return {.kind = settings.schedule,
          .learning_rate = settings.learning_rate,
          .minimum = settings.minimum_learning_rate,
          .decay_rate = settings.decay_rate.value_or(1.0),
          .decay_steps = settings.decay_steps.value_or(default_decay_steps(settings, total_steps)),
          .warmup_steps = settings.warmup_steps};
}

double learning_rate_at(const Schedule& schedule, int64_t step) {
  if (step < schedule.warmup_steps) {
    return schedule.learning_rate * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
  }
  const double rate = std::max(decayed(schedule, step - schedule.warmup_steps), schedule.minimum);
  return std::min(rate, config::kMostFloat);  // a GPU stores it as float32
}

}  // namespace rnnlab
