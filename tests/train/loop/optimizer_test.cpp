// SPDX-License-Identifier: Apache-2.0
#include "train/loop/optimizer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"

namespace rnnlab {
namespace {

TrainingSettings settings_for(OptimizerKind kind) {
  TrainingSettings settings;
  settings.optimizer = kind;
  settings.weight_decay = 0.1;
  if (info_of(kind).reads("momentum")) settings.momentum = 0.9;
  return settings;
}

constexpr double kRate = 0.05;
const std::vector<double> kGradients = {0.5, -1.0, 2.0, 0.25};

// One float64 weight starts at 1 and gets the gradients kGradients.
std::vector<double> weights_under(const TrainingSettings& settings) {
  auto weight = at::ones({1}, at::kDouble).requires_grad_();
  const auto optimizer = make_optimizer(settings, {{"w", weight}});
  optimizer->set_learning_rate(kRate);
  std::vector<double> weights;
  for (const double gradient : kGradients) {
    weight.mutable_grad() = at::full({1}, gradient, at::kDouble);
    optimizer->step({});
    weights.push_back(weight.item<double>());
  }
  return weights;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  EXPECT_THAT(actual, ::testing::Pointwise(::testing::DoubleNear(1e-12), expected));
}

TEST(Sgd, FollowsItsFormula) {
  double weight = 1.0;
  double velocity = 0.0;
  std::vector<double> expected;
  for (const double gradient : kGradients) {
    velocity = 0.9 * velocity + (gradient + 0.1 * weight);
    weight -= kRate * velocity;
    expected.push_back(weight);
  }
  expect_near(weights_under(settings_for(OptimizerKind::kSgd)), expected);
}

TEST(Sgd, WithoutMomentumTakesTheGradientAlone) {
  auto settings = settings_for(OptimizerKind::kSgd);
  settings.momentum = settings.weight_decay = 0.0;
  expect_near(weights_under(settings), {0.975, 1.025, 0.925, 0.9125});
}

double adam_update(double gradient, int step, double& mean, double& square) {
  mean = 0.9 * mean + 0.1 * gradient;
  square = 0.999 * square + 0.001 * gradient * gradient;
  return (mean / (1 - std::pow(0.9, step))) / (std::sqrt(square / (1 - std::pow(0.999, step))) + 1e-8);
}

TEST(Adam, FollowsItsFormulaWithDecayInTheGradient) {
  double weight = 1.0;
  double mean = 0.0;
  double square = 0.0;
  std::vector<double> expected;
  for (const double gradient : kGradients) {
    const int step = static_cast<int>(expected.size()) + 1;
    weight -= kRate * adam_update(gradient + 0.1 * weight, step, mean, square);
    expected.push_back(weight);
  }
  expect_near(weights_under(settings_for(OptimizerKind::kAdam)), expected);
}

TEST(AdamW, FollowsItsFormulaWithDecayOfTheWeight) {
  double weight = 1.0;
  double mean = 0.0;
  double square = 0.0;
  std::vector<double> expected;
  for (const double gradient : kGradients) {
    const int step = static_cast<int>(expected.size()) + 1;
    weight -= kRate * 0.1 * weight;
    weight -= kRate * adam_update(gradient, step, mean, square);
    expected.push_back(weight);
  }
  expect_near(weights_under(settings_for(OptimizerKind::kAdamW)), expected);
}

TEST(RmsProp, FollowsItsFormula) {
  double weight = 1.0, square = 0.0, velocity = 0.0;
  std::vector<double> expected;
  for (const double gradient : kGradients) {
    const double decayed = gradient + 0.1 * weight;
    square = 0.99 * square + 0.01 * decayed * decayed;
    velocity = 0.9 * velocity + decayed / (std::sqrt(square) + 1e-8);
    weight -= kRate * velocity;
    expected.push_back(weight);
  }
  expect_near(weights_under(settings_for(OptimizerKind::kRmsProp)), expected);
}

// Returns two float32 parameters whose sizes are not multiples of a vector.
std::vector<at::Tensor> two_parameters(at::Device device) {
  const auto generator = at::detail::createCPUGenerator(3);
  return {at::randn({7, 5}, generator).to(device).requires_grad_(),
          at::randn({3}, generator).to(device).requires_grad_()};
}

std::vector<NamedTensor> named(const std::vector<at::Tensor>& parameters) {
  return {{"a", parameters[0]}, {"b", parameters[1]}};
}

void set_gradients(const std::vector<at::Tensor>& parameters, uint64_t seed) {
  const auto generator = at::detail::createCPUGenerator(seed);
  for (const auto& parameter : parameters)
    parameter.mutable_grad() = at::randn(parameter.sizes(), generator).to(parameter.device());
}

template <class TorchOptimizer, class Options>
void expect_same_as(const TrainingSettings& settings, const Options& options, at::Device device) {
  const auto ours = two_parameters(device);
  const auto theirs = two_parameters(device);
  const auto optimizer = make_optimizer(settings, named(ours));
  optimizer->set_learning_rate(kRate);
  TorchOptimizer reference(theirs, options);
  for (uint64_t step = 0; step < 5; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    optimizer->step({});
    reference.step();
  }
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_TRUE(at::allclose(ours[i], theirs[i], 1e-5, 1e-6)) << i;
}

void expect_same_as_torch_optim(at::Device device) {
  expect_same_as<torch::optim::SGD>(settings_for(OptimizerKind::kSgd),
                                    torch::optim::SGDOptions(kRate).momentum(0.9).weight_decay(0.1), device);
  expect_same_as<torch::optim::Adam>(settings_for(OptimizerKind::kAdam),
                                     torch::optim::AdamOptions(kRate).weight_decay(0.1), device);
  expect_same_as<torch::optim::AdamW>(settings_for(OptimizerKind::kAdamW),
                                      torch::optim::AdamWOptions(kRate).weight_decay(0.1), device);
  auto settings = settings_for(OptimizerKind::kRmsProp);
  for (const double momentum : {0.0, 0.9}) {
    settings.momentum = momentum;
    expect_same_as<torch::optim::RMSprop>(
        settings, torch::optim::RMSpropOptions(kRate).alpha(0.99).weight_decay(0.1).momentum(momentum), device);
  }
}

TEST(Optimizer, AgreesWithTorchOptimOnTheCpu) { expect_same_as_torch_optim(at::Device(at::kCPU)); }

TEST(Optimizer, AgreesWithTorchOptimOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  expect_same_as_torch_optim(at::Device(at::kCUDA, 0));
}

// Compares a GPU in float32 with the CPU in float64, for many sizes and strides: more tensors than one launch takes,
// tensors of one piece and of several, and tensors that are smaller than a vector.
TEST(Adam, OnAGpuUpdatesParametersOfEverySize) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const auto generator = at::detail::createCPUGenerator(3);
  const at::Tensor flat = at::randn({20001}, generator).cuda();
  std::vector<NamedTensor> there = {{"unaligned", flat.narrow(0, 1, 9000).detach().requires_grad_()}, {"turned", {}}};
  there[1].tensor = at::randn({70, 90}, generator).cuda().t().requires_grad_();
  for (int64_t i = 0; i < 60; ++i)
    there.push_back({std::to_string(i), at::randn({i % 9 == 0 ? 6000 + i : 1 + i}, generator).cuda().requires_grad_()});
  std::vector<NamedTensor> here = there;
  for (auto& [name, tensor] : here) tensor = tensor.detach().cpu().to(at::kDouble).contiguous().requires_grad_();
  for (const auto kind : {OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    const auto on_gpu = make_optimizer(settings_for(kind), there), on_cpu = make_optimizer(settings_for(kind), here);
    on_gpu->set_learning_rate(kRate);
    on_cpu->set_learning_rate(kRate);
    for (int step = 0; step < 3; ++step) {
      for (size_t i = 0; i < here.size(); ++i) {
        here[i].tensor.mutable_grad() = at::randn(here[i].tensor.sizes(), generator).to(at::kDouble);
        there[i].tensor.mutable_grad() = here[i].tensor.grad().to(at::kFloat).cuda();
      }
      on_gpu->step({});
      on_cpu->step({});
    }
    for (size_t i = 0; i < here.size(); ++i)
      EXPECT_TRUE(at::allclose(there[i].tensor.cpu().to(at::kDouble), here[i].tensor, 1e-4, 1e-5)) << here[i].name;
  }
}

// Returns the weights after three steps, between which bad gradients may occur while the flag is set.
std::vector<at::Tensor> weights_after_three_steps(OptimizerKind kind, at::Device device, bool meets_nan) {
  const auto parameters = two_parameters(device);
  const auto optimizer = make_optimizer(settings_for(kind), named(parameters));
  optimizer->set_learning_rate(kRate);
  const auto flag = at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(device));
  for (const uint64_t step : {1, 2, 3}) {
    set_gradients(parameters, step);
    optimizer->step(flag);
    if (!meets_nan) continue;
    parameters[1].mutable_grad().fill_(NAN);
    optimizer->step(at::ones_like(flag));
  }
  return parameters;
}

// The state of the optimiser does not change either: later steps are those of a run without bad gradients.
void expect_nothing_changes_when_flagged(OptimizerKind kind, at::Device device) {
  const auto calm = weights_after_three_steps(kind, device, /*meets_nan=*/false);
  const auto flagged = weights_after_three_steps(kind, device, /*meets_nan=*/true);
  for (size_t i = 0; i < calm.size(); ++i) EXPECT_TRUE(at::allclose(calm[i], flagged[i], 0, 0)) << "tensor " << i;
}

TEST(Optimizer, AppliesNothingWhereInfWasFound) {
  for (const auto& [kind, name] : config::EnumNames<OptimizerKind>::kNames) {
    SCOPED_TRACE(name);
    expect_nothing_changes_when_flagged(kind, at::Device(at::kCPU));
    if (torch::cuda::is_available()) expect_nothing_changes_when_flagged(kind, at::Device(at::kCUDA, 0));
  }
}

// The update is, bit for bit, that from gradients that were scaled before.
void expect_scaled_update(OptimizerKind kind, at::Device device) {
  const auto scaled_before = two_parameters(device), scaled_within = two_parameters(device);
  const auto before = make_optimizer(settings_for(kind), named(scaled_before));
  const auto within = make_optimizer(settings_for(kind), named(scaled_within));
  const auto scale = at::full({}, 0.3, at::TensorOptions().dtype(at::kFloat).device(device));
  for (uint64_t step = 0; step < 3; ++step) {
    set_gradients(scaled_before, step);
    set_gradients(scaled_within, step);
    for (const auto& parameter : scaled_before) parameter.mutable_grad().mul_(scale);
    before->step({});
    within->step({}, scale);
  }
  for (size_t i = 0; i < scaled_before.size(); ++i)
    EXPECT_TRUE(at::allclose(scaled_before[i], scaled_within[i], 0, 0)) << "tensor " << i;
}

TEST(Optimizer, ScalesGradientsOnTheWay) {
  for (const auto& [kind, name] : config::EnumNames<OptimizerKind>::kNames) {
    SCOPED_TRACE(name);
    expect_scaled_update(kind, at::Device(at::kCPU));
    if (torch::cuda::is_available()) expect_scaled_update(kind, at::Device(at::kCUDA, 0));
  }
}

TEST(Optimizer, ZeroGradFreesTheGradients) {
  const auto parameters = two_parameters(at::Device(at::kCPU));
  const auto optimizer = make_optimizer(settings_for(OptimizerKind::kAdam), named(parameters));
  set_gradients(parameters, 1);
  optimizer->zero_grad();
  EXPECT_FALSE(parameters[0].grad().defined());
}

// A kind that the list lacks is a defect of rnnlab, and not taken for another.
TEST(Optimizer, HasARecordForEachName) {
  std::set<const OptimizerInfo*> records;
  for (const auto& [kind, name] : config::EnumNames<OptimizerKind>::kNames) records.insert(&info_of(kind));
  EXPECT_EQ(records.size(), config::EnumNames<OptimizerKind>::kNames.size());
  EXPECT_THROW(info_of(static_cast<OptimizerKind>(99)), InvariantError);
}

TEST(Optimizer, HasAsManyTensorsForAWeightAsItSays) {
  for (const auto& [kind, name] : config::EnumNames<OptimizerKind>::kNames) {
    for (const double momentum : {0.0, 0.9}) {
      auto settings = settings_for(kind);
      settings.momentum = info_of(kind).reads("momentum") ? momentum : 0.0;
      const auto parameters = two_parameters(at::kCPU);
      const auto state = make_optimizer(settings, named(parameters))->state();
      const auto are_of_b =
          std::ranges::count_if(state, [](const NamedTensor& one) { return one.name.starts_with("b."); });
      EXPECT_EQ(are_of_b, info_of(kind).num_copies(settings)) << name;
    }
  }
}

}  // namespace
}  // namespace rnnlab
