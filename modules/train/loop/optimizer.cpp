// SPDX-License-Identifier: Apache-2.0
#include "train/loop/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "base/error.h"

namespace rnnlab {

void scale_in_place(at::TensorList gradients, const at::Tensor& scale) {
  if (scale.defined()) at::_foreach_mul_(gradients, scale);
}

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
  const LearningRate rate = learning_rates_on_device_.defined()
                                ? LearningRate(learning_rates_on_device_[slot])
                                : LearningRate(learning_rates_.at(static_cast<size_t>(slot)));
  update(weights_, gradients(), rate, flag, gradient_scale);
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
  return info_of(settings.optimizer).make(settings, std::move(parameters));
}

int64_t num_velocities(const TrainingSettings& settings) { return settings.momentum != 0.0 ? 1 : 0; }

}  // namespace rnnlab
