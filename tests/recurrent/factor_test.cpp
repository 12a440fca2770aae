#include "recurrent/persistent/products.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>

#include "recurrent/on_cuda.h"
#include "recurrent/persistent_check.h"

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

TEST(GainsByInputFactor, InTf32ByFloat16AndIn16BitsByWholeColumns) {
  const TensorFloat32 products(kRoundsToTf32);
  const auto gains = [](int64_t rows, int64_t columns, at::ScalarType type) {
    return gains_by_input_factor(without_memory(rows, columns, type), without_memory(3072, columns, type));
  };
  EXPECT_TRUE(gains(12800, 500, at::kFloat));
  EXPECT_TRUE(gains(12800, 512, at::kFloat));
  EXPECT_TRUE(gains(12800, 499, at::kHalf));
  EXPECT_FALSE(gains(12800, 512, at::kHalf)) << "whole already";
  EXPECT_FALSE(gains(12800, 499, at::kFloat)) << "no whole vectors of float32";
  EXPECT_FALSE(gains(12801, 500, at::kFloat)) << "odd rows";
  EXPECT_FALSE(gains(128, 500, at::kHalf)) << "small";
}

TEST(GainsByInputFactor, NotInFloat32) {
  const TensorFloat32 products(kRoundsToFloat32);
  EXPECT_FALSE(gains_by_input_factor(without_memory(12800, 512), without_memory(3072, 512)));
}

class ScaledHalfOnCuda : public ByOwnKernels {
 protected:
  static at::Tensor back(const Factor& factor) {
    return factor.values.to(at::kDouble) * factor.unscale[0].to(at::kDouble);
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

// Whether `product` is left * right, whose numbers may have any magnitude.
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
  const Factor factor = input_factor(input);
  ASSERT_EQ(factor.values.sizes(), (std::vector<int64_t>{16, 512}));
  EXPECT_TRUE(at::allclose(back(factor).narrow(1, 0, 500), input.to(at::kDouble), 5e-4, 1e-17));
  EXPECT_TRUE(factor.values.narrow(1, 500, 12).eq(0).all().item<bool>());

  const at::Tensor of_16_bits = at::randn({16, 499}, at::kCUDA).to(at::kBFloat16);
  const at::Tensor whole = input_factor(of_16_bits).values;
  EXPECT_TRUE(at::equal(whole.narrow(1, 0, 499), of_16_bits));
  EXPECT_TRUE(whole.narrow(1, 499, 13).eq(0).all().item<bool>());
}

TEST_F(ScaledHalfOnCuda, ProductsTakeAFactorThatIsNotScaled) {
  const at::Tensor left = at::randn({64, 256}, at::kCUDA) * 1e-9, right = at::randn({256, 48}, at::kCUDA);
  const at::Tensor product = at::empty({64, 48}, at::kCUDA);
  multiply_scaled(product, scaled_half(left), {right.to(at::kHalf), {}});
  expect_product(product, left, right);
}

}  // namespace
}  // namespace rnnlab
