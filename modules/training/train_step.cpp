#include "training/train_step.h"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <numeric>

#include "training/gradients.h"

namespace rnnlab {
namespace {

int64_t num_targets(std::span<const Batch> batches) {
  return std::accumulate(batches.begin(), batches.end(), int64_t{0},
                         [](int64_t sum, const Batch& batch) { return sum + batch.targets.numel(); });
}

}  // namespace

TrainStep::TrainStep(Model& model, const Objective& objective, const TrainingSettings& settings, Precision precision,
                     c10::Device device)
    : model_(model),
      objective_(objective),
      precision_(precision),
      device_(device),
      clip_norm_(settings.clip_norm),
      clip_value_(settings.clip_value),
      optimizer_(make_optimizer(settings, named_parameters(model))),
      record_(static_cast<int64_t>(optimizer_->parameters().size()), device),
      found_inf_(at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(device))),
      one_(at::ones({}, found_inf_.options())) {}

void TrainStep::run(std::span<const Batch> batches, double learning_rate) {
  optimizer_->zero_grad();
  const auto evaluation = backpropagate(batches);
  const auto gradients = optimizer_->gradients();
  const auto norms = gradient_norms(gradients);
  flag_non_finite(record_.append(evaluation.loss, evaluation.metric_sum, norms, evaluation.count));
  clip(gradients, norms);
  optimizer_->step(learning_rate, found_inf_);
}

Evaluation TrainStep::backpropagate(std::span<const Batch> batches) {
  if (batches.size() == 1) return backpropagate(batches.front(), 1.0);
  const auto total = static_cast<double>(num_targets(batches));
  Evaluation sum{at::zeros_like(one_), at::zeros_like(one_), 0};
  for (const auto& batch : batches) {
    const auto part = backpropagate(batch, static_cast<double>(batch.targets.numel()) / total);
    sum.loss += part.loss;
    sum.metric_sum += part.metric_sum;
    sum.count += part.count;
  }
  return sum;
}

Evaluation TrainStep::backpropagate(const Batch& batch, double share) {
  at::Tensor output;
  {
    const AutocastGuard autocast(precision_, device_);
    output = model_.forward(batch);
  }
  auto evaluation = objective_.evaluate(output, batch.targets);
  const auto loss = share == 1.0 ? evaluation.loss : evaluation.loss * share;
  loss.backward();
  evaluation.loss = loss.detach();
  return evaluation;
}

void TrainStep::clip(at::TensorList gradients, at::TensorList norms) const {
  if (clip_norm_) clip_by_norm(gradients, norms, *clip_norm_);
  if (clip_value_) clip_by_value(gradients, *clip_value_);
}

void TrainStep::flag_non_finite(const at::Tensor& row) {
  // Made for unscaling gradients; on the row of losses and norms, times one, it is a check by one small kernel. It
  // never lowers the flag.
  at::_amp_foreach_non_finite_check_and_unscale_(row, found_inf_, one_);
}

std::vector<NamedTensor> named_parameters(const torch::nn::Module& module) {
  std::vector<NamedTensor> parameters;
  for (const auto& parameter : module.named_parameters()) parameters.push_back({parameter.key(), parameter.value()});
  return parameters;
}

}  // namespace rnnlab
