// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "layers/on_cuda.h"
#include "layers/persistent/layer_parts.h"
#include "layers/persistent/persistent_trace.h"
#include "layers/persistent/products.h"
#include "layers/persistent_check.h"

namespace rnnlab {
namespace {

constexpr const NumberClass& kRoundsToTf32 = kNumberClasses[1];
constexpr const NumberClass& kRoundsToFloat32 = kNumberClasses[0];

at::Tensor without_memory(int64_t rows, int64_t columns, at::ScalarType type = at::kFloat) {
  return at::empty({rows, columns}, at::TensorOptions().dtype(type).device(at::kMeta));
}

TEST(GainsByHalf, WhereAProductIsLargeAndRoundedToTf32Anyway) {
  const TensorFloat32 products(kRoundsToTf32);
  EXPECT_TRUE(gains_by_half(without_memory(2048, 6400), without_memory(6400, 512)));
  EXPECT_FALSE(gains_by_half(without_memory(512, 3584), without_memory(3584, 128))) << "small";
  EXPECT_FALSE(gains_by_half(without_memory(2048, 6404), without_memory(6404, 512))) << "odd rows";
  EXPECT_FALSE(gains_by_half(without_memory(2048, 6400), without_memory(6400, 500))) << "odd columns";
  EXPECT_FALSE(gains_by_half(without_memory(2048, 6400, at::kHalf), without_memory(6400, 512, at::kHalf)));
}

TEST(GainsByHalf, NotInFloat32) {
  const TensorFloat32 products(kRoundsToFloat32);
  EXPECT_FALSE(gains_by_half(without_memory(2048, 6400), without_memory(6400, 512)));
}

TEST(GainsByInputOperand, InTf32ByFloat16AndIn16BitsByWholeColumns) {
  const TensorFloat32 products(kRoundsToTf32);
  const auto gains = [](int64_t rows, int64_t columns, at::ScalarType type) {
    return gains_by_input_operand(without_memory(rows, columns, type), without_memory(3072, columns, type));
  };
  EXPECT_TRUE(gains(12800, 500, at::kFloat));
  EXPECT_TRUE(gains(12800, 512, at::kFloat));
  EXPECT_TRUE(gains(12800, 499, at::kHalf));
  EXPECT_FALSE(gains(12800, 512, at::kHalf)) << "whole already";
  EXPECT_FALSE(gains(12800, 499, at::kFloat)) << "no whole vectors of float32";
  EXPECT_FALSE(gains(12801, 500, at::kFloat)) << "odd rows";
  EXPECT_FALSE(gains(128, 500, at::kHalf)) << "small";
}

TEST(GainsByInputOperand, NotInFloat32) {
  const TensorFloat32 products(kRoundsToFloat32);
  EXPECT_FALSE(gains_by_input_operand(without_memory(12800, 512), without_memory(3072, 512)));
}

class ScaledHalfOnCuda : public ByOwnKernels {
 protected:
  static at::Tensor back(const Operand& operand) {
    return operand.values.to(at::kDouble) * operand.unscale[0].to(at::kDouble);
  }
};

TEST_F(ScaledHalfOnCuda, KeepsElevenBitsWhateverTheMagnitude) {
  for (const double magnitude : {1e-30, 1e-5, 1.0, 1e5, 1e30}) {
    const at::Tensor matrix = at::randn({96, 40}, at::kCUDA) * magnitude;
    EXPECT_TRUE(at::allclose(back(scaled_half(matrix)), matrix.to(at::kDouble), 5e-4, magnitude * 1e-8)) << magnitude;
  }
}

TEST_F(ScaledHalfOnCuda, ZerosStayZeros) {
  const at::Tensor zeros = at::zeros({8, 8}, at::kCUDA);
  EXPECT_TRUE(back(scaled_half(zeros)).eq(0).all().item<bool>());
}

TEST_F(ScaledHalfOnCuda, WhatIsNotFiniteStaysSo) {
  for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const at::Tensor matrix = at::randn({8, 8}, at::kCUDA);
    matrix[3][5] = value;
    const at::Tensor result = back(scaled_half(matrix));
    EXPECT_FALSE(at::isfinite(result[3][5]).item<bool>());
    EXPECT_TRUE(at::allclose(result.narrow(0, 4, 4), matrix.narrow(0, 4, 4).to(at::kDouble), 5e-4, 1e-8));
  }
}

// Checks that `product` is left * right, whose numbers may have any magnitude.
void expect_product(const at::Tensor& product, const at::Tensor& left, const at::Tensor& right) {
  const at::Tensor expected = left.to(at::kDouble).mm(right.to(at::kDouble));
  EXPECT_TRUE(at::allclose(product.to(at::kDouble), expected, 1e-3, 1e-3 * expected.abs().max().item<double>()));
}

TEST_F(ScaledHalfOnCuda, ProductsAreThoseOfTheNumbers) {
  const at::Tensor left = at::randn({256, 64}, at::kCUDA) * 1e-9, right = at::randn({256, 48}, at::kCUDA) * 1e3;
  const at::Tensor product = at::empty({64, 48}, at::kCUDA);
  multiply_scaled(product, scaled_half(left).t(), scaled_half(right));
  expect_product(product, left.t(), right);
}

TEST_F(ScaledHalfOnCuda, InputsAreFilledUpToWholeColumns) {
  const at::Tensor input = at::randn({16, 500}, at::kCUDA) * 1e-9;
  const Operand operand = input_operand(input);
  ASSERT_EQ(operand.values.sizes(), (std::vector<int64_t>{16, 512}));
  EXPECT_TRUE(at::allclose(back(operand).narrow(1, 0, 500), input.to(at::kDouble), 5e-4, 1e-17));
  EXPECT_TRUE(operand.values.narrow(1, 500, 12).eq(0).all().item<bool>());

  const at::Tensor of_16_bits = at::randn({16, 499}, at::kCUDA).to(at::kBFloat16);
  const at::Tensor whole = input_operand(of_16_bits).values;
  EXPECT_TRUE(at::equal(whole.narrow(1, 0, 499), of_16_bits));
  EXPECT_TRUE(whole.narrow(1, 499, 13).eq(0).all().item<bool>());
}

TEST_F(ScaledHalfOnCuda, ProductsTakeAnOperandThatIsNotScaled) {
  const at::Tensor left = at::randn({64, 256}, at::kCUDA) * 1e-9, right = at::randn({256, 48}, at::kCUDA);
  const at::Tensor product = at::empty({64, 48}, at::kCUDA);
  multiply_scaled(product, scaled_half(left), {right.to(at::kHalf), {}});
  expect_product(product, left, right);
}

}  // namespace

namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<int64_t> sizes(const std::vector<Steps>& parts) {
  std::vector<int64_t> all;
  for (const Steps& steps : parts) all.push_back(steps.size());
  return all;
}

TEST(PartsOfSteps, AreOneWhereThereIsNothingBeside) {
  EXPECT_THAT(sizes(parts_of_steps(100, 1, 0.2)), ElementsAre(100)) << "one layer";
  EXPECT_THAT(sizes(parts_of_steps(100, 4, 0.9)), ElementsAre(100)) << "a full GPU";
  EXPECT_THAT(sizes(parts_of_steps(28, 2, 0.5)), ElementsAre(28)) << "too short to be worth it";
}

TEST(PartsOfSteps, CoverAllStepsInOrder) {
  const auto parts = parts_of_steps(101, 4, 0.5);
  EXPECT_THAT(sizes(parts), ElementsAre(20, 20, 20, 20, 21));
  for (size_t i = 1; i < parts.size(); ++i) EXPECT_EQ(parts[i].first, parts[i - 1].last);
}

TEST(PartsOfSteps, AreMoreForMoreLayersAndSteps) {
  EXPECT_EQ(parts_of_steps(1000, 2, 0.5).size(), 9U);
  EXPECT_EQ(parts_of_steps(1000, 4, 0.5).size(), 16U);
}

TEST(PartsOfSteps, OfALayerReadBackwardsBeginAtTheEnd) {
  const at::Tensor tensor = at::arange(10);
  EXPECT_EQ(rows_of(tensor, Direction::kForward, {0, 3})[0].item<int64_t>(), 0);
  EXPECT_EQ(rows_of(tensor, Direction::kReverse, {0, 3})[0].item<int64_t>(), 7);
  EXPECT_FALSE(rows_of({}, Direction::kForward, {0, 3}).defined());
}

TEST(PartsOfSteps, OfATraceHaveTheStateBeforeThem) {
  PersistentTrace trace;
  trace.gates = at::arange(6).view({6, 1, 1});
  trace.hidden = at::arange(7).view({7, 1, 1});
  const PersistentTrace part = part_of(trace, Direction::kForward, {2, 4});
  EXPECT_EQ(part.num_steps(), 2);
  EXPECT_EQ(part.hidden[0].item<int64_t>(), 2);
  EXPECT_EQ(part.hidden.size(0), 3);
}

TEST(PartsOfSteps, OfATraceByTokensHaveTheirTokens) {
  PersistentTrace trace;
  trace.gates = at::arange(12).view({6, 2, 1});
  trace.hidden = at::arange(14).view({7, 2, 1});
  trace.tokens = at::arange(12);
  EXPECT_TRUE(at::equal(part_of(trace, Direction::kForward, {2, 4}).tokens, at::arange(4, 8)));
  EXPECT_TRUE(at::equal(part_of(trace, Direction::kReverse, {0, 1}).tokens, at::arange(10, 12)));
}

PersistentGradients gradients_of(int64_t num_steps) {
  PersistentGradients gradients;
  gradients.sides = gradients.input_side = gradients.recurrent_side = at::arange(num_steps).view({num_steps, 1, 1});
  gradients.from_next_step = at::zeros({1, 1});
  return gradients;
}

TEST(PartsOfSteps, OfGradientsHaveOneSideWhereThereIsOne) {
  PersistentGradients gradients = gradients_of(6);
  const PersistentGradients part = part_of(gradients, Direction::kForward, {2, 4}, 0);
  EXPECT_TRUE(part.recurrent_side.is_same(part.input_side));
  EXPECT_EQ(part.input_side[0].item<int64_t>(), 2);
  EXPECT_TRUE(part.from_next_step.is_same(gradients.from_next_step)) << "handed on from part to part";

  gradients.exponents = at::arange(6).view({6, 1, 1});
  gradients.largest_exponents = at::arange(3);
  const PersistentGradients middle = part_of(gradients, Direction::kForward, {2, 4}, 1);
  EXPECT_EQ(middle.exponents[0].item<int64_t>(), 2);
  EXPECT_EQ(middle.largest_exponents.item<int64_t>(), 1);
  EXPECT_EQ(middle.later_exponent.item<int64_t>(), 2) << "of the part that is computed before";
  EXPECT_FALSE(part_of(gradients, Direction::kForward, {4, 6}, 2).later_exponent.defined());

  gradients.sides = at::arange(24).view({6, 1, 4});
  gradients.input_side = gradients.sides.narrow(2, 1, 3);
  gradients.recurrent_side = gradients.sides.narrow(2, 0, 3);
  const PersistentGradients of_two = part_of(gradients, Direction::kReverse, {2, 4}, 0);
  EXPECT_EQ(of_two.sides[0][0][0].item<int64_t>(), 8);
  EXPECT_EQ(of_two.input_side[0][0][0].item<int64_t>(), 9);
  EXPECT_EQ(of_two.recurrent_side[0][0][0].item<int64_t>(), 8);
}

TEST(PartsOfSteps, OfGradientsHaveSumsForBiasesOfTheirOwn) {
  PersistentGradients gradients = gradients_of(6);
  gradients.bias_sums = at::arange(3).view({3, 1, 1, 1});
  EXPECT_EQ(part_of(gradients, Direction::kForward, {4, 6}, 2).bias_sums.item<int64_t>(), 2);
}

TEST(Diagonals, HaveWhatALayerWaitsForQueuedLast) {
  std::vector<std::pair<size_t, size_t>> order;
  along_diagonals(2, 3, [&](size_t layer, size_t part) { order.emplace_back(layer, part); });
  EXPECT_THAT(order, ElementsAre(Pair(0, 0), Pair(1, 0), Pair(0, 1), Pair(1, 1), Pair(0, 2), Pair(1, 2)));
}

}  // namespace

}  // namespace rnnlab
