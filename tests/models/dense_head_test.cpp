#include "models/dense_head.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "models/small_models.h"
#include "recurrent/on_cuda.h"

namespace rnnlab {
namespace {

class DenseHeadOnCuda : public ByOwnKernels {};

// Products, bias, weight and output bias.
std::vector<at::Tensor> head_inputs(int64_t num_rows, int64_t num_columns, int64_t num_outputs) {
  std::vector<at::Tensor> inputs = {seeded_randn({num_rows, num_columns}), seeded_randn({num_columns}, 2),
                                    seeded_randn({num_outputs, num_columns}, 3), seeded_randn({num_outputs}, 4)};
  for (auto& tensor : inputs) tensor = tensor.cuda();
  return inputs;
}

// Outputs, then the gradients of their weighted sum in all inputs, all in float64.
template <class Head>
std::vector<at::Tensor> head_results(const Head& head, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& tensor : inputs) leaves.push_back(tensor.detach().clone().requires_grad_());
  const at::Tensor outputs = head(leaves[0], leaves[1], leaves[2], leaves[3]);
  (outputs * seeded_randn(outputs.sizes(), 9).to(outputs.options())).sum().backward();
  std::vector<at::Tensor> results = {outputs.detach().to(at::kDouble)};
  for (const at::Tensor& leaf : leaves) results.push_back(leaf.grad().to(at::kDouble));
  return results;
}

std::vector<at::Tensor> by_own_kernels(const std::vector<at::Tensor>& inputs) {
  return head_results(
      [](const auto&... tensors) {
        const std::vector<at::Tensor> given = {tensors...};
        return dense_head(given[0], given[1], /*dropout=*/0.0, given[2], given[3]);
      },
      inputs);
}

std::vector<at::Tensor> by_definition(std::vector<at::Tensor> inputs) {
  for (auto& tensor : inputs) tensor = tensor.to(at::kDouble);
  return head_results(
      [](const auto& products, const auto& bias, const auto& weight, const auto& output_bias) {
        return at::linear(at::relu(products + bias), weight, output_bias);
      },
      inputs);
}

void expect_head_close(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double scale = wanted[i].abs().max().item<double>();
    EXPECT_LE((got[i] - wanted[i]).abs().max().item<double>(), tolerance * scale) << "of result " << i;
  }
}

TEST_F(DenseHeadOnCuda, IsBiasReluAndTheOutputLayerWithAllGradients) {
  at::globalContext().setAllowTF32CuBLAS(true);  // which these kernels do not take up
  for (const auto& [rows, columns, outputs] :
       std::vector<std::array<int64_t, 3>>{{128, 1024, 10}, {1, 1, 1}, {3, 33, 16}, {129, 1025, 2}, {300, 2100, 7}}) {
    SCOPED_TRACE(fmt::format("{} x {} to {}", rows, columns, outputs));
    const auto inputs = head_inputs(rows, columns, outputs);
    expect_head_close(by_own_kernels(inputs), by_definition(inputs), 1e-5);
  }
  at::globalContext().setAllowTF32CuBLAS(false);
}

TEST_F(DenseHeadOnCuda, ComputesShortTypesToTheirRounding) {
  for (const auto& [type, rounding] : {std::pair{at::kHalf, 2e-3}, std::pair{at::kBFloat16, 2e-2}}) {
    auto inputs = head_inputs(64, 256, 10);
    inputs[0] = inputs[0].to(type);
    expect_head_close(by_own_kernels(inputs), by_definition(inputs), rounding);
  }
}

// All products 1 and all output weights 1: an output is twice the number of hidden values kept at a half.
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

TEST(DenseHead, IsForGpusAlone) { EXPECT_FALSE(can_run_dense_head(at::zeros({8}), at::zeros({10, 8}))); }

}  // namespace
}  // namespace rnnlab
