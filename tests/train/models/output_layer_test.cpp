// SPDX-License-Identifier: Apache-2.0
#include "train/models/output_layer.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "layers/on_cuda.h"
#include "train/models/kernels/dense_head.h"
#include "train/models/kernels/output_layer.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

class OutputLayerOnCuda : public ByOwnKernels {};

constexpr int64_t kMostOutputs = kernels::kMostOutputs;
constexpr int64_t kMostRows = kernels::kMostRowsOfOutput;
constexpr int64_t kMostInputs = kernels::kMostInputsOfOutput;

struct LayerSizes {
  int64_t rows, inputs, outputs;
};

// Returns values, weight and bias.
std::vector<at::Tensor> layer_inputs(const LayerSizes& of) {
  return converted(
      {seeded_randn({of.rows, of.inputs}), seeded_randn({of.outputs, of.inputs}, 2), seeded_randn({of.outputs}, 3)},
      at::kCUDA);
}

at::Tensor layer_of(const std::vector<at::Tensor>& inputs) {
  torch::nn::Linear output(inputs[1].size(1), inputs[1].size(0));
  output->weight = inputs[1];
  output->bias = inputs[2];
  return output_layer(inputs[0], output);
}

at::Tensor linear_of(const std::vector<at::Tensor>& inputs) { return at::linear(inputs[0], inputs[1], inputs[2]); }

using See = std::function<std::vector<at::Tensor>(std::vector<at::Tensor>)>;

std::vector<at::Tensor> as_given(std::vector<at::Tensor> leaves) { return leaves; }

// Returns the outputs for the views that `see` makes of leaves, then the gradients of their weighted sum in the leaves;
// the gradient of an input that is frozen is undefined.
template <class Layer>
std::vector<at::Tensor> layer_results(const Layer& layer, const std::vector<at::Tensor>& inputs, const See& see,
                                      const std::vector<bool>& is_frozen = {false, false, false}) {
  std::vector<at::Tensor> leaves;
  for (size_t i = 0; i < inputs.size(); ++i) leaves.push_back(inputs[i].detach().clone().requires_grad_(!is_frozen[i]));
  const at::Tensor outputs = layer(see(leaves));
  (outputs * seeded_randn(outputs.sizes(), 9).to(outputs.options())).sum().backward();
  std::vector<at::Tensor> results = {outputs.detach()};
  for (const at::Tensor& leaf : leaves) results.push_back(leaf.grad());
  return results;
}

// rounding: of the type of the values, which their gradients have.
void expect_as_linear(const std::vector<at::Tensor>& inputs, const See& see, double rounding) {
  std::vector<at::Tensor> precise = inputs;
  for (auto& tensor : precise) tensor = tensor.cpu().to(at::kDouble);
  const auto got = layer_results(layer_of, inputs, see), wanted = layer_results(linear_of, precise, see);
  EXPECT_EQ(got[0].scalar_type(), at::kFloat);
  EXPECT_EQ(got[1].scalar_type(), inputs[0].scalar_type());
  for (size_t i = 0; i < got.size(); ++i) {
    const double tolerance = i == 1 ? rounding : 1e-5, scale = std::max(1.0, wanted[i].abs().max().item<double>());
    EXPECT_LE((got[i].cpu().to(at::kDouble) - wanted[i]).abs().max().item<double>(), tolerance * scale)
        << "of result " << i;
  }
}

TEST_F(OutputLayerOnCuda, IsTheLinearLayerWithAllGradients) {
  for (const auto& [type, rounding] :
       {std::pair{at::kFloat, 1e-5}, std::pair{at::kHalf, 1e-3}, std::pair{at::kBFloat16, 8e-3}})
    for (const LayerSizes& sizes : {LayerSizes{1, 1, 1},
                                    {256, 1024, 1},
                                    {64, 512, 10},
                                    {1000, 100, 3},
                                    {7, 13, kMostOutputs},
                                    {33, 15, 2},
                                    {5, 130, 1},
                                    {kMostRows, kMostInputs, 1},
                                    {64, kMostInputs, kMostOutputs}}) {
      SCOPED_TRACE(fmt::format("{} x {} to {}, {}", sizes.rows, sizes.inputs, sizes.outputs, c10::toString(type)));
      auto inputs = layer_inputs(sizes);
      inputs[0] = inputs[0].to(type);
      expect_as_linear(inputs, as_given, rounding);
    }
}

TEST_F(OutputLayerOnCuda, ReadsViewsOfLargerTensors) {
  const auto expect_of_view = [](at::IntArrayRef sizes, const auto& view) {
    const auto see = [&](std::vector<at::Tensor> leaves) {
      leaves[0] = view(leaves[0]);
      return leaves;
    };
    auto inputs = layer_inputs({6, 12, 3});
    inputs[0] = seeded_randn(sizes).cuda();
    expect_as_linear(inputs, see, 1e-5);
  };
  expect_of_view({6, 20}, [](const at::Tensor& leaf) { return leaf.narrow(1, 3, 12); });
  expect_of_view({12, 6}, [](const at::Tensor& leaf) { return leaf.t(); });
  expect_of_view({2, 6, 12}, [](const at::Tensor& leaf) { return leaf[-1]; });
  expect_of_view({73}, [](const at::Tensor& leaf) { return leaf.narrow(0, 1, 72).view({6, 12}); });  // not aligned
}

TEST_F(OutputLayerOnCuda, ReadsAWeightThatIsNotAligned) {
  auto inputs = layer_inputs({6, 12, 3});
  inputs[1] = seeded_randn({37}, 2).cuda();
  const auto see = [](std::vector<at::Tensor> leaves) {
    leaves[1] = leaves[1].narrow(0, 1, 36).view({3, 12});
    return leaves;
  };
  expect_as_linear(inputs, see, 1e-5);
}

TEST_F(OutputLayerOnCuda, RepeatsBitByBit) {
  for (const LayerSizes& sizes : {LayerSizes{256, 1024, 1}, {64, 512, 10}, {1000, 101, 3}}) {
    const auto inputs = layer_inputs(sizes);
    const auto first = layer_results(layer_of, inputs, as_given);
    for (int i = 0; i < 10; ++i) {
      const auto again = layer_results(layer_of, inputs, as_given);
      for (size_t j = 0; j < first.size(); ++j) EXPECT_TRUE(at::equal(again[j], first[j])) << "result " << j;
    }
  }
}

TEST_F(OutputLayerOnCuda, GivesFrozenInputsNoGradient) {
  const auto inputs = layer_inputs({70, 40, 10});
  const auto all = layer_results(layer_of, inputs, as_given);
  for (const auto& is_frozen : std::vector<std::vector<bool>>{{true, false, false},
                                                              {false, true, false},
                                                              {false, false, true},
                                                              {false, true, true},
                                                              {true, true, false}}) {
    const auto some = layer_results(layer_of, inputs, as_given, is_frozen);
    EXPECT_TRUE(at::equal(some[0], all[0]));
    for (size_t i = 0; i < is_frozen.size(); ++i) {
      EXPECT_EQ(some[i + 1].defined(), !is_frozen[i]);
      EXPECT_TRUE(is_frozen[i] || at::equal(some[i + 1], all[i + 1])) << "of input " << i;
    }
  }
}

TEST_F(OutputLayerOnCuda, KeepsNaNInItsRow) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr int64_t kRow = 3, kNumRows = 9;
  for (const int64_t num_outputs : {1, 10}) {
    auto inputs = layer_inputs({kNumRows, 20, num_outputs});
    const at::Tensor values = inputs[0].clone().requires_grad_();
    const at::Tensor outputs = layer_of({values, inputs[1], inputs[2]});
    at::Tensor gradient = at::zeros(outputs.sizes(), outputs.options().requires_grad(false)) + 1;
    gradient[kRow].fill_(kNaN);
    outputs.backward(gradient);
    inputs[0][kRow].fill_(kNaN);
    const at::Tensor in_outputs = at::isnan(layer_of(inputs)).cpu(), in_gradient = at::isnan(values.grad()).cpu();
    for (int64_t row = 0; row < kNumRows; ++row) {
      EXPECT_EQ(in_outputs[row].all().item<bool>(), row == kRow);
      EXPECT_EQ(in_outputs[row].any().item<bool>(), row == kRow);
      EXPECT_EQ(in_gradient[row].all().item<bool>(), row == kRow);
      EXPECT_EQ(in_gradient[row].any().item<bool>(), row == kRow);
    }
  }
}

// Autocast's linear layer has outputs in bfloat16, so their type tells who computed them.
TEST_F(OutputLayerOnCuda, HasFloat32OutputsUnderAutocastUpToItsLimits) {
  const Autocast autocast(at::kCUDA);
  const auto type_of = [](const LayerSizes& sizes) { return layer_of(layer_inputs(sizes)).scalar_type(); };
  EXPECT_EQ(type_of({kMostRows, 8, kMostOutputs}), at::kFloat);
  EXPECT_EQ(type_of({kMostRows + 1, 8, 2}), at::kBFloat16);
  EXPECT_EQ(type_of({2, kMostInputs, kMostOutputs}), at::kFloat);
  EXPECT_EQ(type_of({2, kMostInputs + 1, 2}), at::kBFloat16);
  EXPECT_EQ(type_of({2, 8, kMostOutputs + 1}), at::kBFloat16);
  EXPECT_EQ(type_of({kMostRows, kMostInputs, 1}), at::kFloat);
  EXPECT_EQ(type_of({kMostRows, kMostInputs, 2}), at::kBFloat16) << "too many products";
  EXPECT_EQ(type_of({0, 8, 2}), at::kBFloat16) << "nothing to compute";
  EXPECT_EQ(type_of({16'384, 512, 65}), at::kFloat) << "a padded layer";
}

TEST_F(OutputLayerOnCuda, LeavesTheRestToLibTorch) {
  auto inputs = layer_inputs({6, 12, 3});
  const at::Tensor of_steps = seeded_randn({4, 6, 12}).cuda();
  EXPECT_TRUE(at::allclose(layer_of({of_steps, inputs[1], inputs[2]}), linear_of({of_steps, inputs[1], inputs[2]}),
                           1e-5, 1e-5));
  for (auto& tensor : inputs) tensor = tensor.to(at::kDouble);
  EXPECT_TRUE(at::equal(layer_of(inputs), linear_of(inputs)));
}

TEST(OutputLayer, IsLibTorchsOnACpu) {
  const std::vector<at::Tensor> inputs = {seeded_randn({6, 12}), seeded_randn({3, 12}, 2), seeded_randn({3}, 3)};
  EXPECT_TRUE(at::equal(layer_of(inputs), linear_of(inputs)));
}

struct PaddedSizes {
  std::vector<int64_t> rows;
  int64_t inputs, outputs;
};

// Returns values, weight and bias, in float32.
std::vector<at::Tensor> inputs_of(const PaddedSizes& of) {
  std::vector<int64_t> sizes = of.rows;
  sizes.push_back(of.inputs);
  return {seeded_randn(sizes), seeded_randn({of.outputs, of.inputs}, 2), seeded_randn({of.outputs}, 3)};
}

at::Tensor padded_of(const std::vector<at::Tensor>& inputs) { return padded_linear(inputs[0], inputs[1], inputs[2]); }

// In float64 on the CPU.
template <class Linear>
std::vector<at::Tensor> results_of(const Linear& linear, const std::vector<at::Tensor>& inputs) {
  const std::vector<at::Tensor> results = with_gradients(linear, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(results[i + 1].scalar_type(), inputs[i].scalar_type());
  return converted(results, at::TensorOptions(at::kDouble).device(at::kCPU));
}

void expect_linear(const std::vector<at::Tensor>& inputs, double tolerance) {
  expect_close(results_of(padded_of, inputs),
               results_of(linear_of, converted(inputs, at::TensorOptions(at::kDouble).device(at::kCPU))), tolerance);
}

TEST(PaddedLinear, IsLinearWithAllGradients) {
  for (const PaddedSizes& sizes : {PaddedSizes{{5, 3}, 16, 65}, {{7}, 8, 1}, {{2, 3, 4}, 5, 7}, {{6}, 24, 16}}) {
    SCOPED_TRACE(fmt::format("{} to {}", sizes.inputs, sizes.outputs));
    expect_linear(converted(inputs_of(sizes), at::kDouble), 1e-12);
  }
}

TEST(PaddedLinear, ComputesOnlyTheGradientsThatAreNeeded) {
  auto inputs = inputs_of({{4, 3}, 8, 5});
  inputs[1].requires_grad_();
  padded_of(inputs).sum().backward();
  EXPECT_TRUE(inputs[1].grad().defined());
  EXPECT_FALSE(inputs[0].grad().defined());
  EXPECT_FALSE(inputs[2].grad().defined());
}

TEST(PaddedLinear, GainsOnlyOnGpus) {
  const auto inputs = inputs_of({{128, 128}, 512, 65});
  EXPECT_FALSE(gains_by_padding(inputs[0].to(at::kBFloat16), inputs[1]));
}

class PaddedLinearOnCuda : public OnCuda {
 protected:
  void TearDown() override { at::globalContext().setAllowTF32CuBLAS(false); }

  static std::vector<at::Tensor> inputs(const PaddedSizes& sizes) { return converted(inputs_of(sizes), at::kCUDA); }
};

TEST_F(PaddedLinearOnCuda, IsLinearInEachPrecision) {
  const PaddedSizes text{{64, 64}, 512, 65};
  expect_linear(inputs(text), 1e-5);
  at::globalContext().setAllowTF32CuBLAS(true);
  expect_linear(inputs(text), 2e-3);
  at::globalContext().setAllowTF32CuBLAS(false);
  for (const auto& [type, rounding] : {std::pair{at::kHalf, 2e-3}, std::pair{at::kBFloat16, 1e-2}}) {
    const Autocast autocast(at::kCUDA, type);
    expect_linear(inputs(text), rounding);  // values in float32
    auto with_short_values = inputs(text);
    with_short_values[0] = with_short_values[0].to(type);
    expect_linear(with_short_values, rounding);
  }
}

TEST_F(PaddedLinearOnCuda, AddsTheGradientOfTheBiasInAFixedOrder) {
  for (const PaddedSizes& sizes :
       {PaddedSizes{{1}, 8, 3}, {{63}, 8, 31}, {{16385}, 8, 65}, {{40'000}, 8, 33}, {{300}, 16, 1001}}) {
    SCOPED_TRACE(fmt::format("{} rows of {}", sizes.rows[0], sizes.outputs));
    expect_linear(inputs(sizes), 1e-5);
    const auto first = results_of(padded_of, inputs(sizes)), second = results_of(padded_of, inputs(sizes));
    EXPECT_TRUE(at::equal(first[3], second[3]));
  }
}

// Rounding to bfloat16 would leave steps of 1/128 near 2.
TEST_F(PaddedLinearOnCuda, DoesNotRoundOutputsUnderAutocast) {
  const Autocast autocast(at::kCUDA, at::kBFloat16);
  const at::Tensor outputs = padded_of(inputs({{64}, 8, 3}));
  EXPECT_EQ(outputs.scalar_type(), at::kFloat);
  EXPECT_FALSE(at::equal(outputs, outputs.to(at::kBFloat16).to(at::kFloat)));
}

TEST_F(PaddedLinearOnCuda, GainsForManyRowsOfOddNumbersOfOutputs) {
  const auto gains = [&](const PaddedSizes& sizes, at::ScalarType type) {
    const auto given = inputs(sizes);
    return gains_by_padding(given[0].to(type), given[1]);
  };
  EXPECT_TRUE(gains({{128, 128}, 512, 65}, at::kBFloat16));
  EXPECT_FALSE(gains({{128, 128}, 512, 64}, at::kBFloat16));  // whole vectors already
  EXPECT_FALSE(gains({{128, 1}, 512, 65}, at::kBFloat16));    // too small
  EXPECT_FALSE(gains({{4096}, 128, 1025}, at::kBFloat16));    // too much memory
  EXPECT_FALSE(gains({{128, 128}, 512, 65}, at::kFloat));     // no TF32
  at::globalContext().setAllowTF32CuBLAS(true);
  EXPECT_TRUE(gains({{128, 128}, 512, 65}, at::kFloat));
}

}  // namespace
}  // namespace rnnlab
