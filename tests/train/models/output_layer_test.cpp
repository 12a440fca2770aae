// SPDX-License-Identifier: Apache-2.0
#include "train/models/output_layer.h"

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

std::vector<at::Tensor> on_gpu(std::vector<at::Tensor> tensors) {
  for (auto& tensor : tensors) tensor = tensor.cuda();
  return tensors;
}

// Returns values, weight and bias.
std::vector<at::Tensor> layer_inputs(const LayerSizes& of) {
  return on_gpu(
      {seeded_randn({of.rows, of.inputs}), seeded_randn({of.outputs, of.inputs}, 2), seeded_randn({of.outputs}, 3)});
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

}  // namespace
}  // namespace rnnlab
