// SPDX-License-Identifier: Apache-2.0
#include "train/loop/train_step.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>

#include <numeric>
#include <utility>

#include "layers/recurrent_layer.h"
#include "train/loop/determinism.h"
#include "train/loop/profiling.h"

namespace rnnlab {
namespace {

constexpr double kFirst = 65536;
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;
constexpr int64_t kGoodStepsToGrow = 2000;

}  // namespace

LossScale::LossScale(c10::Device device)
    : value_(at::full({}, kFirst, at::TensorOptions().dtype(at::kFloat).device(device))),
      good_steps_(at::zeros({}, value_.options().dtype(at::kInt))) {}

std::vector<NamedTensor> LossScale::state() const {
  return {{"loss_scale.value", value_}, {"loss_scale.good_steps", good_steps_}};
}

at::Tensor LossScale::unscale(at::TensorList gradients) {
  at::Tensor overflow = at::zeros({}, value_.options());
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow, value_.reciprocal());
  const at::Tensor mendable = overflow * value_.gt(1);
  at::_amp_update_scale_(value_, good_steps_, overflow, kGrowth, kBackoff, kGoodStepsToGrow);
  return mendable;
}

namespace {

int64_t num_targets(std::span<const Batch> batches) {
  return std::accumulate(batches.begin(), batches.end(), int64_t{0},
                         [](int64_t sum, const Batch& batch) { return sum + batch.num_targets(); });
}

Evaluation no_targets(const at::Tensor& one) {
  return {at::zeros_like(one), at::zeros_like(one), at::zeros_like(one), 0};
}

void add_part(const Evaluation& part, double share, Evaluation& sum) {
  const at::NoGradGuard no_grad;
  sum.loss.add_(part.loss, share);
  sum.weighted_loss.add_(part.weighted_loss, share);
  sum.metric_sum.add_(part.metric_sum);
  sum.count += part.count;
}

}  // namespace

TrainStep::TrainStep(Model& model, Objective objective, const TrainingSettings& settings, Precision precision,
                     c10::Device device)
    : model_(model),
      objective_(std::move(objective)),
      precision_(precision),
      device_(device),
      clip_norm_(settings.clip_norm),
      clip_value_(settings.clip_value),
      optimizer_(make_optimizer(settings, named_parameters(model))),
      loss_scale_(precision == Precision::kFp16 ? std::optional<LossScale>(device) : std::nullopt),
      found_inf_(at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(device))),
      one_(unscaled_gradient(found_inf_.device())) {}

void TrainStep::enable_exchange(const ExchangeOptions& options, uint64_t seed) {
  seed_ = seed;
  if (!options.ranks->one_each(options.shards)) return;
  exchange_.emplace(options, optimizer_->parameters());
  set_gradient_sink(exchange_->sink());
}

void TrainStep::begin_epoch(int64_t epoch) const {
  if (!exchange_) seed_dropout(seed_, epoch);
}

TrainStep::~TrainStep() {
  if (exchange_) set_gradient_sink(nullptr);
}

void TrainStep::set_gradient_sink(GradientSink* sink) {
  for (const auto& module : model_.modules(/*include_self=*/false))
    if (auto* layer = dynamic_cast<RecurrentLayer*>(module.get())) layer->set_gradient_sink(sink);
}

EvaluatedStep TrainStep::run(std::span<const Batch> batches, int64_t slot) {
  const TraceRange step_range("step");
  optimizer_->zero_grad();
  const auto evaluation = exchange_ ? backpropagate_shards(batches, slot) : backpropagate_all(batches);
  const auto gradients = optimizer_->gradients();
  const auto skipped = unscale(gradients);
  SummedGradients summed = exchange_ ? exchange_->summed() : SummedGradients();
  if (loss_scale_) summed.norm_parts.reset();  // they are of the gradients before unscale()
  const auto [step, scale] = summarize_step(gradients, evaluation, skipped, found_inf_, clip_norm_, summed);
  const auto scale_of_update = clip(gradients, scale);
  const TraceRange update_range("update");
  optimizer_->step(loss_scale_ ? at::maximum(found_inf_, skipped) : found_inf_, scale_of_update, slot);
  if (exchange_) exchange_->end_step();
  return step;
}

std::vector<NamedTensor> TrainStep::state() const {
  auto state = optimizer_->state();
  if (loss_scale_)
    for (auto& tensor : loss_scale_->state()) state.push_back(std::move(tensor));
  const std::vector<at::Tensor>& carried = model_.carried_states();
  for (size_t i = 0; i < carried.size(); ++i) state.push_back({"carried_state." + std::to_string(i), carried[i]});
  return state;
}

Evaluation TrainStep::backpropagate_all(std::span<const Batch> batches) {
  if (batches.size() == 1) return backpropagate_one(batches.front(), 1.0);
  const auto total = static_cast<double>(num_targets(batches));
  Evaluation sum = no_targets(one_);
  for (const auto& batch : batches) {
    const double share = static_cast<double>(batch.num_targets()) / total;
    add_part(backpropagate_one(batch, share), share, sum);
  }
  return sum;
}

void TrainStep::set_step_number(int64_t step) {
  step_number_ = step;
  // On a CPU each shard is seeded when it is computed.
  if (exchange_ && device_.is_cuda())
    seed_shard(device_, seed_, {.first_step = step, .num_shards = exchange_->num_shards()});
}

Evaluation TrainStep::backpropagate_shards(std::span<const Batch> batches, int64_t slot) {
  exchange_->begin_step();
  const int64_t end = exchange_->first_shard() + exchange_->num_own_shards();
  for (int64_t shard = exchange_->first_shard(); shard < end; ++shard) {
    optimizer_->zero_grad();
    seed_shard(device_, seed_,
               {.first_step = step_number_, .slot = slot, .num_shards = exchange_->num_shards(), .shard = shard});
    backpropagate_shard(batches, shard);
  }
  return exchange_->all_reduce(batches);
}

// A batch may have fewer samples than there are shards.
void TrainStep::backpropagate_shard(std::span<const Batch> batches, int64_t shard) {
  std::vector<Batch> parts;
  for (const Batch& batch : batches) {
    parts.push_back(exchange_->shard_of(batch, shard));
    if (parts.back().size == 0) parts.pop_back();
  }
  const auto weight_of = [&](const Batch& part) { return GradientExchange::weight_of(part, batches); };
  if (parts.size() == 1) {
    const double share = weight_of(parts.front());
    backpropagate_one(parts.front(), share, [&](const Evaluation& evaluation) {
      exchange_->set_sums(evaluation, share);
      exchange_->begin_last_pass(/*is_only_pass=*/true);
    });
    return exchange_->store_shard(shard);
  }
  Evaluation sum = no_targets(one_);
  if (parts.empty()) exchange_->set_sums(sum, /*factor=*/1);
  for (const Batch& part : parts)
    backpropagate_one(part, weight_of(part), [&](const Evaluation& evaluation) {
      add_part(evaluation, weight_of(part), sum);
      if (&part != &parts.back()) return;
      exchange_->set_sums(sum, /*factor=*/1);
      exchange_->begin_last_pass(/*is_only_pass=*/false);
    });
  exchange_->store_shard(shard);
}

Evaluation TrainStep::backpropagate_one(const Batch& batch, double share, const BeforeBackward& before_backward) {
  const at::Tensor scale = loss_scale_ ? loss_scale_->value() * share : scale_of(share);
  return backpropagate(model_, batch, objective_, precision_, scale, before_backward);
}

// Every step has one of a few shares, so a step that is captured in a graph needs no kernel for it.
at::Tensor TrainStep::scale_of(double share) {
  if (share == 1.0) return one_;
  at::Tensor& scale = shares_[share];
  if (!scale.defined()) scale = one_ * share;
  return scale;
}

at::Tensor TrainStep::unscale(at::TensorList gradients) {
  const at::NoGradGuard no_grad;
  return loss_scale_ ? loss_scale_->unscale(gradients) : at::Tensor();
}

// Returns the scale by which the update must still multiply the gradients.
at::Tensor TrainStep::clip(at::TensorList gradients, const at::Tensor& scale) const {
  const TraceRange range("clip");
  if (!clip_value_) return scale;
  const at::NoGradGuard no_grad;
  if (scale.defined()) at::_foreach_mul_(gradients, scale);
  clip_by_value(gradients, *clip_value_);
  return {};
}

Evaluation backpropagate(Model& model, const Batch& batch, const Objective& objective, Precision precision,
                         const at::Tensor& scale, const BeforeBackward& before_backward) {
  at::Tensor output;
  {
    const TraceRange range("forward");
    const AutocastGuard autocast(precision, batch.inputs.device());
    output = model.forward(batch);
  }
  auto evaluation = objective.evaluate(output, batch);
  if (before_backward) before_backward(evaluation);
  const TraceRange range("backward");
  evaluation.loss.backward(scale.defined() ? scale : unscaled_gradient(evaluation.loss.device()));
  evaluation.loss = evaluation.loss.detach();
  return evaluation;
}

std::vector<NamedTensor> named_parameters(const torch::nn::Module& module) {
  std::vector<NamedTensor> parameters;
  for (const auto& parameter : module.named_parameters()) parameters.push_back({parameter.key(), parameter.value()});
  return parameters;
}

}  // namespace rnnlab
