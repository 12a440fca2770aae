// SPDX-License-Identifier: Apache-2.0
#include "train/models/output_layer.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "layers/on_cuda.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

struct Sizes {
  std::vector<int64_t> rows;
  int64_t inputs, outputs;
};

// Returns values, weight and bias, in float32.
std::vector<at::Tensor> inputs_of(const Sizes& of) {
  std::vector<int64_t> sizes = of.rows;
  sizes.push_back(of.inputs);
  return {seeded_randn(sizes), seeded_randn({of.outputs, of.inputs}, 2), seeded_randn({of.outputs}, 3)};
}

std::vector<at::Tensor> converted(std::vector<at::Tensor> tensors, const at::TensorOptions& options) {
  for (at::Tensor& tensor : tensors) tensor = tensor.to(options);
  return tensors;
}

// Returns the outputs, then the gradients of their weighted sum, all in float64 on the CPU.
template <class Linear>
std::vector<at::Tensor> results_of(const Linear& linear, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& tensor : inputs) leaves.push_back(tensor.detach().clone().requires_grad_());
  const at::Tensor outputs = linear(leaves[0], leaves[1], leaves[2]);
  (outputs * seeded_randn(outputs.sizes(), 9).to(outputs.options())).sum().backward();
  std::vector<at::Tensor> results = {outputs.detach()};
  for (const at::Tensor& leaf : leaves) {
    EXPECT_EQ(leaf.grad().scalar_type(), leaf.scalar_type());
    results.push_back(leaf.grad());
  }
  return converted(results, at::TensorOptions(at::kDouble).device(at::kCPU));
}

void expect_linear(const std::vector<at::Tensor>& inputs, double tolerance) {
  const auto got = results_of(padded_linear, inputs);
  const auto wanted = results_of(
      [](const auto& values, const auto& weight, const auto& bias) { return at::linear(values, weight, bias); },
      converted(inputs, at::TensorOptions(at::kDouble).device(at::kCPU)));
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(got[i].sizes(), wanted[i].sizes());
    const double scale = wanted[i].abs().max().item<double>();
    EXPECT_LE((got[i] - wanted[i]).abs().max().item<double>(), tolerance * scale) << "of result " << i;
  }
}

TEST(PaddedLinear, IsLinearWithAllGradients) {
  for (const Sizes& sizes : {Sizes{{5, 3}, 16, 65}, {{7}, 8, 1}, {{2, 3, 4}, 5, 7}, {{6}, 24, 16}}) {
    SCOPED_TRACE(fmt::format("{} to {}", sizes.inputs, sizes.outputs));
    expect_linear(converted(inputs_of(sizes), at::kDouble), 1e-12);
  }
}

TEST(PaddedLinear, ComputesOnlyTheGradientsThatAreNeeded) {
  auto inputs = inputs_of({{4, 3}, 8, 5});
  inputs[1].requires_grad_();
  padded_linear(inputs[0], inputs[1], inputs[2]).sum().backward();
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

  static std::vector<at::Tensor> inputs(const Sizes& sizes) { return converted(inputs_of(sizes), at::kCUDA); }
};

TEST_F(PaddedLinearOnCuda, IsLinearInEachPrecision) {
  const Sizes text{{64, 64}, 512, 65};
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
  for (const Sizes& sizes : {Sizes{{1}, 8, 3}, {{63}, 8, 31}, {{16385}, 8, 65}, {{40'000}, 8, 33}, {{300}, 16, 1001}}) {
    SCOPED_TRACE(fmt::format("{} rows of {}", sizes.rows[0], sizes.outputs));
    expect_linear(inputs(sizes), 1e-5);
    const auto first = results_of(padded_linear, inputs(sizes)), second = results_of(padded_linear, inputs(sizes));
    EXPECT_TRUE(at::equal(first[3], second[3]));
  }
}

// Rounding to bfloat16 would leave steps of 1/128 near 2.
TEST_F(PaddedLinearOnCuda, DoesNotRoundOutputsUnderAutocast) {
  const Autocast autocast(at::kCUDA, at::kBFloat16);
  const auto given = inputs({{64}, 8, 3});
  const at::Tensor outputs = padded_linear(given[0], given[1], given[2]);
  EXPECT_EQ(outputs.scalar_type(), at::kFloat);
  EXPECT_FALSE(at::equal(outputs, outputs.to(at::kBFloat16).to(at::kFloat)));
}

TEST_F(PaddedLinearOnCuda, GainsForManyRowsOfOddNumbersOfOutputs) {
  const auto gains = [&](const Sizes& sizes, at::ScalarType type) {
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
