// SPDX-License-Identifier: Apache-2.0
#include "train/models/operations.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include <cmath>
#include <limits>

#include "base/expect_error.h"
#include "layers/on_cuda.h"
#include "train/models/image_reference.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

class DenseHeadOnCuda : public ByOwnKernels {};

// Returns products, bias, weight and output bias.
std::vector<at::Tensor> head_inputs(int64_t num_rows, int64_t num_columns, int64_t num_outputs) {
  return converted({seeded_randn({num_rows, num_columns}), seeded_randn({num_columns}, 2),
                    seeded_randn({num_outputs, num_columns}, 3), seeded_randn({num_outputs}, 4)},
                   at::kCUDA);
}

// All in float64.
template <class Head>
std::vector<at::Tensor> head_results(const Head& head, const std::vector<at::Tensor>& inputs) {
  return converted(with_gradients(head, inputs), at::kDouble);
}

std::vector<at::Tensor> by_own_kernels(const std::vector<at::Tensor>& inputs) {
  return head_results(
      [](const std::vector<at::Tensor>& given) {
        return dense_head(given[0], given[1], /*dropout=*/0.0, given[2], given[3]);
      },
      inputs);
}

std::vector<at::Tensor> by_definition(const std::vector<at::Tensor>& inputs) {
  return head_results(
      [](const std::vector<at::Tensor>& given) {
        return at::linear(at::relu(given[0] + given[1]), given[2], given[3]);
      },
      converted(inputs, at::kDouble));
}

TEST_F(DenseHeadOnCuda, IsBiasReluAndTheOutputLayerWithAllGradients) {
  at::globalContext().setAllowTF32CuBLAS(true);  // which these kernels do not take up
  for (const auto& [rows, columns, outputs] :
       std::vector<std::array<int64_t, 3>>{{128, 1024, 10}, {1, 1, 1}, {3, 33, 16}, {129, 1025, 2}, {300, 2100, 7}}) {
    SCOPED_TRACE(fmt::format("{} x {} to {}", rows, columns, outputs));
    const auto inputs = head_inputs(rows, columns, outputs);
    expect_close(by_own_kernels(inputs), by_definition(inputs), 1e-5);
  }
  at::globalContext().setAllowTF32CuBLAS(false);
}

TEST_F(DenseHeadOnCuda, ComputesShortTypesToTheirRounding) {
  for (const auto& [type, rounding] : {std::pair{at::kHalf, 2e-3}, std::pair{at::kBFloat16, 2e-2}}) {
    auto inputs = head_inputs(64, 256, 10);
    inputs[0] = inputs[0].to(type);
    expect_close(by_own_kernels(inputs), by_definition(inputs), rounding);
  }
}

// All products and all output weights are 1, so with dropout 0.5 an output is twice the number of kept hidden values.
at::Tensor twice_the_kept(const at::Tensor& products) {
  const auto options = products.options().requires_grad(false);
  return dense_head(products, at::zeros({products.size(1)}, options), /*dropout=*/0.5,
                    at::ones({1, products.size(1)}, options), at::zeros({1}, options));
}

TEST_F(DenseHeadOnCuda, DropsTheShareAskedForAndGivesTheRestItsGradient) {
  at::manual_seed(1);
  const at::Tensor products = at::ones({64, 1500}, at::kFloat).cuda().requires_grad_();
  const at::Tensor outputs = twice_the_kept(products);
  EXPECT_NEAR(outputs.mean().item<double>(), 1500.0, 15.0);  // five standard errors are 24
  outputs.sum().backward();
  EXPECT_TRUE(at::equal(products.grad().sum(1, /*keepdim=*/true), outputs));
  EXPECT_TRUE(at::equal(products.grad() * (products.grad() - 2), at::zeros_like(products)));
  const at::Tensor of_columns = products.grad().mean(0);
  EXPECT_GT(of_columns.min().item<double>(), 0.25);  // no column is dropped, or kept, in every row
  EXPECT_LT(of_columns.max().item<double>(), 1.75);
}

TEST_F(DenseHeadOnCuda, DrawsAnewAtEveryCallAndTheSameFromTheSameSeed) {
  const at::Tensor products = at::ones({64, 100}, at::kFloat).cuda();
  at::manual_seed(1);
  const at::Tensor first = twice_the_kept(products), second = twice_the_kept(products);
  at::manual_seed(1);
  EXPECT_TRUE(at::equal(twice_the_kept(products), first));
  EXPECT_FALSE(at::equal(first, second));
}

TEST_F(DenseHeadOnCuda, IsForFewOutputsInFloat32) {
  const auto can = [](int64_t num_outputs, at::ScalarType type) {
    return can_run_dense_head(at::zeros({8}, type).cuda(), at::zeros({num_outputs, 8}, type).cuda());
  };
  EXPECT_TRUE(can(16, at::kFloat));
  EXPECT_FALSE(can(17, at::kFloat));
  EXPECT_FALSE(can(10, at::kDouble));
}

struct EndSizes {
  int64_t rows, inputs, columns, outputs;
};

// Returns values, the dense layer's weight and bias, the output weight and its bias, in float32.
std::vector<at::Tensor> end_inputs(const EndSizes& of) {
  return converted(
      {seeded_randn({of.rows, of.inputs}), seeded_randn({of.columns, of.inputs}, 2), seeded_randn({of.columns}, 3),
       seeded_randn({of.outputs, of.columns}, 4), seeded_randn({of.outputs}, 5)},
      at::kCUDA);
}

at::Tensor end_by_own_kernels(const std::vector<at::Tensor>& inputs, const EndDropout& dropout = {}) {
  torch::nn::Linear dense(inputs[1].size(1), inputs[1].size(0)), output(inputs[3].size(1), inputs[3].size(0));
  dense->weight = inputs[1];
  dense->bias = inputs[2];
  output->weight = inputs[3];
  output->bias = inputs[4];
  return dense_end(inputs[0], dense, output, dropout);
}

at::Tensor end_by_definition(const std::vector<at::Tensor>& inputs) {
  return at::linear(at::relu(at::linear(inputs[0], inputs[1], inputs[2])), inputs[3], inputs[4]);
}

void expect_end_close(const std::vector<at::Tensor>& inputs, double tolerance) {
  expect_close(head_results([](const auto& leaves) { return end_by_own_kernels(leaves); }, inputs),
               head_results(end_by_definition, converted(inputs, at::kDouble)), tolerance);
}

TEST_F(DenseHeadOnCuda, ASmallEndIsBothLayersWithAllGradients) {
  for (const EndSizes& sizes : {EndSizes{128, 128, 32, 10}, {1, 1, 1, 1}, {9, 33, 5, 16}, {1024, 512, 64, 3}}) {
    SCOPED_TRACE(fmt::format("{} x {} to {} to {}", sizes.rows, sizes.inputs, sizes.columns, sizes.outputs));
    expect_end_close(end_inputs(sizes), 1e-5);
  }
}

TEST_F(DenseHeadOnCuda, ALargerEndIsBothLayersWithAllGradients) {
  for (const EndSizes& sizes : {EndSizes{1025, 12, 8, 10}, {3, 513, 8, 10}, {3, 12, 65, 10}})
    expect_end_close(end_inputs(sizes), 1e-4);
}

TEST_F(DenseHeadOnCuda, ASmallEndReadsShortTypes) {
  for (const auto& [type, rounding] : {std::pair{at::kHalf, 2e-3}, std::pair{at::kBFloat16, 2e-2}}) {
    auto inputs = end_inputs({64, 128, 32, 10});
    inputs[0] = inputs[0].to(type);
    expect_end_close(inputs, rounding);
  }
}

// All weights are 1, so an output is the sum of its kept values, each times its scale.
TEST_F(DenseHeadOnCuda, ASmallEndDropsTheShareAskedForOfValuesAndHiddenValues) {
  const auto ones = [](at::IntArrayRef sizes) { return at::ones(sizes, at::kFloat).cuda(); };
  const at::Tensor zero = at::zeros({1}, at::kFloat).cuda();
  at::manual_seed(1);
  // Values of different size, all positive, so that an output is the sum of values times their gradients.
  const at::Tensor values = (ones({1000, 400}) + at::linspace(-0.5, 0.5, 400).cuda()).requires_grad_();
  const at::Tensor of_values = end_by_own_kernels({values, ones({1, 400}), zero, ones({1, 1}), zero}, {.values = 0.25});
  EXPECT_NEAR(of_values.mean().item<double>(), 400.0, 2.0);  // five standard errors are 1.8
  of_values.sum().backward();
  EXPECT_TRUE(at::allclose((values * values.grad()).sum(1, /*keepdim=*/true), of_values));
  const at::Tensor value = ones({1000, 1}).requires_grad_();
  const at::Tensor of_hidden =
      end_by_own_kernels({value, ones({64, 1}), ones({64}) * 0, ones({1, 64}), zero}, {.hidden = 0.5});
  EXPECT_NEAR(of_hidden.mean().item<double>(), 64.0, 1.5);  // five standard errors are 1.3
  EXPECT_GT(of_hidden.std().item<double>(), 4.0);           // each hidden value is dropped or kept by itself
  of_hidden.sum().backward();
  EXPECT_TRUE(at::allclose(value.grad(), of_hidden));
}

TEST_F(DenseHeadOnCuda, ASmallEndDrawsAnewAtEveryCallAndTheSameFromTheSameSeed) {
  const auto inputs = end_inputs({64, 100, 32, 10});
  const EndDropout dropout = {.values = 0.3, .hidden = 0.3};
  at::manual_seed(1);
  const at::Tensor first = end_by_own_kernels(inputs, dropout), second = end_by_own_kernels(inputs, dropout);
  at::manual_seed(1);
  EXPECT_TRUE(at::equal(end_by_own_kernels(inputs, dropout), first));
  EXPECT_FALSE(at::equal(first, second));
}

TEST(DenseHead, IsForGpusAlone) { EXPECT_FALSE(can_run_dense_head(at::zeros({8}), at::zeros({10, 8}))); }

class FusedPooling : public ::testing::TestWithParam<c10::DeviceType> {
 protected:
  void SetUp() override {
    if (GetParam() == at::kCUDA && !has_own_kernels_here()) GTEST_SKIP() << "needs own kernels on a GPU";
  }

  at::Tensor here(const at::Tensor& tensor) const { return tensor.to(GetParam()); }
};

struct Gradients {
  at::Tensor pooled, values, bias;
};

template <class Pool>
Gradients gradients_of(const Pool& pool, const at::Tensor& values, const at::Tensor& bias) {
  const at::Tensor x = values.detach().clone(at::MemoryFormat::Preserve).requires_grad_();
  const at::Tensor b = bias.detach().clone().requires_grad_();
  const at::Tensor pooled = pool(x, b);
  const at::Tensor weights = seeded_randn(pooled.sizes(), 5).to(pooled.options());
  (pooled * weights).sum().backward();
  return {pooled.detach(), x.grad(), b.grad()};
}

at::Tensor separate(const at::Tensor& values, const at::Tensor& bias) {
  return at::max_pool2d(at::relu(values + bias.to(values.scalar_type()).view({1, -1, 1, 1})), 2);
}

void expect_as_separate(const at::Tensor& values, const at::Tensor& bias, at::MemoryFormat format, double tolerance) {
  const auto fused = gradients_of(
      [&](const at::Tensor& x, const at::Tensor& b) { return bias_relu_pool(x, b, format); }, values, bias);
  const auto apart = gradients_of(separate, values, bias);
  EXPECT_TRUE(fused.pooled.is_contiguous(format));
  EXPECT_TRUE(at::allclose(fused.pooled, apart.pooled, tolerance, tolerance));
  EXPECT_TRUE(at::allclose(fused.values, apart.values, tolerance, tolerance));
  EXPECT_TRUE(at::allclose(fused.bias, apart.bias, tolerance, 10 * tolerance));
}

TEST_P(FusedPooling, IsBiasReluAndPoolingInOne) {
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast})
    for (const auto& sizes :
         {std::vector<int64_t>{3, 32, 8, 6}, {2, 5, 4, 4}, {1, 70, 2, 2}, {40, 64, 14, 14}, {2, 33, 20, 22}}) {
      SCOPED_TRACE(::testing::PrintToString(sizes));
      const at::Tensor values = here(seeded_randn(sizes)), bias = here(seeded_randn({sizes[1]}, 2));
      expect_as_separate(values.to(at::kDouble), bias.to(at::kDouble), format, 1e-12);
      expect_as_separate(values.contiguous(at::MemoryFormat::ChannelsLast), bias, format, 1e-5);
    }
}

TEST_P(FusedPooling, LeavesOutALastRowAndColumnWithoutAPartner) {
  const at::Tensor values = here(seeded_randn({2, 3, 7, 5})), bias = here(at::zeros({3}));
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast})
    expect_as_separate(values, bias, format, 1e-6);
}

TEST_P(FusedPooling, ComputesShortTypesToTheirRounding) {
  const at::Tensor values = here(seeded_randn({4, 16, 6, 6})), bias = here(seeded_randn({16}, 2));
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    const at::Tensor pooled = bias_relu_pool(values.to(type), bias, at::MemoryFormat::ChannelsLast);
    EXPECT_EQ(pooled.scalar_type(), type);
    const at::Tensor exact = separate(values.to(type).to(at::kFloat), bias);
    const double rounding = type == at::kHalf ? 1e-3 : 8e-3;
    EXPECT_TRUE(at::allclose(pooled.to(at::kFloat), exact, rounding, 0.0));
  }
}

TEST_P(FusedPooling, GivesTheGradientToTheFirstOfEqualsAndNoneToZeros) {
  const at::Tensor values = here(at::tensor({-1.0F, 2.0F, 2.0F, 1.0F, -1.0F, -2.0F, -3.0F, 0.0F}).view({2, 1, 2, 2}));
  const auto fused = gradients_of(
      [](const at::Tensor& x, const at::Tensor& b) { return bias_relu_pool(x, b, at::MemoryFormat::Contiguous); },
      values, here(at::zeros({1})));
  EXPECT_TRUE(at::equal(fused.pooled.flatten().cpu(), at::tensor({2.0F, 0.0F})));
  EXPECT_TRUE(
      at::equal(fused.values.ne(0).flatten().cpu(), at::tensor({0, 1, 0, 0, 0, 0, 0, 0}, at::kInt).to(at::kBool)));
}

TEST_P(FusedPooling, LetsNaNThrough) {
  for (int64_t i = 0; i < 4; ++i) {
    const at::Tensor values = at::zeros({1, 1, 2, 2});
    values.flatten()[i] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(
        std::isnan(bias_relu_pool(here(values), here(at::zeros({1})), at::MemoryFormat::Contiguous).item<float>()));
  }
}

TEST(FusedPoolingLimits, AreToldBeforeMemoryIsTaken) {
  const at::Tensor values = at::zeros({1, 32, 28, 28}).expand({85599, 32, 28, 28});
  testing::expect_error(ExitCode::kUsage,
                        [&] { bias_relu_pool(values, at::zeros({32}), at::MemoryFormat::Contiguous); });
}

INSTANTIATE_TEST_SUITE_P(Devices, FusedPooling, ::testing::Values(at::kCPU, at::kCUDA),
                         [](const auto& tested) { return c10::DeviceTypeName(tested.param, /*lower_case=*/true); });

// Compares the own kernel for a first convolution, which exists only for GPUs, with its definition in float64.
class FirstConvolutionOnCuda : public ByOwnKernels {
 protected:
  static Gradients by_definition(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias) {
    const at::Tensor pixels = images.to(at::kDouble).transpose(0, 1).unsqueeze(1);
    return gradients_of(
        [&](const at::Tensor& w, const at::Tensor& b) {
          return reference_pool(at::relu(reference_convolution(pixels, w, b)));
        },
        weight.to(at::kDouble), bias.to(at::kDouble));
  }

  static void expect_as_defined(int64_t batch_size, int64_t num_rows, int64_t num_columns, int64_t num_channels) {
    const at::Tensor images = seeded_randn({num_rows, batch_size, num_columns}).cuda();
    const at::Tensor weight = seeded_randn({num_channels, 1, 5, 5}, 2).cuda();
    const at::Tensor bias = seeded_randn({num_channels}, 3).cuda();
    ASSERT_TRUE(can_run_first_convolution(images, weight));
    const auto expected = by_definition(images, weight, bias);
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const auto own = gradients_of(
          [&](const at::Tensor& w, const at::Tensor& b) { return first_convolution(images, w, b, at::kFloat, format); },
          weight, bias);
      EXPECT_TRUE(at::allclose(own.pooled.to(at::kDouble), expected.pooled, 1e-5, 1e-5));
      EXPECT_TRUE(at::allclose(own.values.to(at::kDouble), expected.values, 1e-4, 1e-3));
      EXPECT_TRUE(at::allclose(own.bias.to(at::kDouble), expected.bias, 1e-4, 1e-3));
    }
  }
};

TEST_F(FirstConvolutionOnCuda, IsConvolutionBiasReluAndPoolingInOne) {
  expect_as_defined(128, 28, 28, 32);
  expect_as_defined(3, 28, 28, 32);
  expect_as_defined(2, 9, 13, 40);  // no partner for the last, a slice of one pooled row, channels beyond a warp
  expect_as_defined(1, 4, 4, 5);
  expect_as_defined(2, 6, 60, 64);  // a row as wide as the banks
}

TEST_F(FirstConvolutionOnCuda, GivesTheTypeThatTheNextConvolutionWants) {
  const at::Tensor images = seeded_randn({28, 4, 28}).cuda(), weight = seeded_randn({32, 1, 5, 5}, 2).cuda();
  const at::Tensor bias = at::zeros({32}, images.options());
  const at::Tensor exact = first_convolution(images, weight, bias, at::kFloat, at::MemoryFormat::ChannelsLast);
  const at::Tensor rounded = first_convolution(images, weight, bias, at::kBFloat16, at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(at::equal(rounded, exact.to(at::kBFloat16)));
}

TEST_F(FirstConvolutionOnCuda, IsNotForLongRowsOtherTypesOrKernels) {
  const at::Tensor weight = at::zeros({8, 1, 5, 5}).cuda();
  const auto can = [&](const at::Tensor& images) { return can_run_first_convolution(images.cuda(), weight); };
  EXPECT_TRUE(can(at::zeros({8, 1, 1000})));
  EXPECT_FALSE(can(at::zeros({8, 1, 3000})));
  EXPECT_FALSE(can(at::zeros({8, 1, 28}, at::kDouble)));
  EXPECT_FALSE(can_run_first_convolution(at::zeros({8, 1, 28}).cuda(), at::zeros({8, 1, 3, 3}).cuda()));
}

TEST(FirstConvolution, IsForGpusAlone) {
  EXPECT_FALSE(can_run_first_convolution(at::zeros({8, 1, 28}), at::zeros({8, 1, 5, 5})));
}

}  // namespace
}  // namespace rnnlab
