// SPDX-License-Identifier: Apache-2.0
#include "layers/recurrent_layer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <array>
#include <utility>

#include "layers/on_cuda.h"
#include "layers/persistent_check.h"

namespace rnnlab {
namespace {

at::Tensor numbers_of(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed));
}

at::Tensor some_tokens(int64_t num_rows, int64_t num_steps, int64_t batch_size) {
  return at::randint(num_rows, {num_steps, batch_size}, at::detail::createCPUGenerator(7));
}

// Holds the result of a function of a table, and its gradients in leaves, the table first.
struct TableResults {
  at::Tensor values;
  std::vector<at::Tensor> gradients;
};

template <class Function>
TableResults results_of(const Function& function, const at::Tensor& table, const std::vector<at::Tensor>& others = {}) {
  std::vector<at::Tensor> leaves = {table.detach().clone().requires_grad_()};
  leaves.insert(leaves.end(), others.begin(), others.end());
  const at::Tensor values = function(leaves[0]);
  (values.to(at::kFloat) * numbers_of(values.sizes(), 5).to(values.device())).sum().backward();
  TableResults results = {values.detach(), {}};
  for (at::Tensor& leaf : leaves) {
    results.gradients.push_back(leaf.grad().clone());
    leaf.mutable_grad().reset();
  }
  return results;
}

TableResults by_lookup(const at::Tensor& table, const at::Tensor& tokens) {
  return results_of([&](const at::Tensor& leaf) { return embedding_lookup(leaf, tokens); }, table);
}

TableResults by_embedding(const at::Tensor& table, const at::Tensor& tokens) {
  return results_of([&](const at::Tensor& leaf) { return at::embedding(leaf, tokens); }, table);
}

// The gradient is a product with few rows, and sorts the tokens with many rows.
TEST(EmbeddingLookup, GainsByOneHotIfFewRowsMeetManyTokens) {
  EXPECT_TRUE(gains_by_one_hot(65, 16384));
  EXPECT_FALSE(gains_by_one_hot(65, 1)) << "one token reads one row";
  EXPECT_FALSE(gains_by_one_hot(2000, 16384));
  EXPECT_FALSE(gains_by_one_hot(1000, 262144)) << "a gigabyte of zeros and ones";
}

TEST(EmbeddingLookup, HasTheResultsAndTheGradientOfAnEmbedding) {
  const TensorFloat32 products(kNumberClasses[0]);
  for (const int64_t num_rows : {65, 1500})
    for (const at::DeviceType device : {at::kCPU, at::kCUDA}) {
      if (device == at::kCUDA && !torch::cuda::is_available()) continue;
      const at::Tensor table = numbers_of({num_rows, 24}, 1), tokens = some_tokens(num_rows, 40, 33);
      const auto got = by_lookup(table.to(device), tokens.to(device)), wanted = by_embedding(table, tokens);
      EXPECT_TRUE(at::equal(got.values.cpu(), wanted.values)) << num_rows << " on " << device;
      EXPECT_TRUE(at::allclose(got.gradients[0].cpu(), wanted.gradients[0], 1e-5, 1e-5))
          << num_rows << " on " << device;
    }
}

TEST(EmbeddingLookup, HasTheTypeOfAutocastAndAGradientInFloat32) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const at::Tensor table = numbers_of({65, 24}, 1).cuda(), tokens = some_tokens(65, 40, 33).cuda();
  const auto wanted = by_embedding(table, tokens);
  const Autocast autocast(at::kCUDA);
  const auto got = by_lookup(table, tokens);
  EXPECT_EQ(got.values.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(got.values, wanted.values.to(at::kBFloat16)));
  EXPECT_EQ(got.gradients[0].scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(got.gradients[0], wanted.gradients[0], 1e-2, 1e-1));
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  const double scale = std::max(1.0, b.abs().max().item<double>());
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>() / scale;
}

// Compares a layer that reads tokens with the same layer that reads the rows of the tokens: outputs, and the gradients
// of the table and of all weights.
void expect_same_by_tokens(RecurrentLayer& layer, const at::Tensor& table, const at::Tensor& tokens, double tolerance) {
  const auto output_of = [](const RecurrentResult& result) { return result.output + result.state.hidden.sum(); };
  const auto got = results_of([&](const at::Tensor& leaf) { return output_of(layer.forward_tokens(leaf, tokens)); },
                              table, layer.parameters());
  const auto wanted =
      results_of([&](const at::Tensor& leaf) { return output_of(layer.forward(at::embedding(leaf, tokens))); }, table,
                 layer.parameters());
  EXPECT_LE(largest_difference(got.values, wanted.values), tolerance);
  for (size_t i = 0; i < got.gradients.size(); ++i)
    EXPECT_LE(largest_difference(got.gradients[i], wanted.gradients[i]), tolerance) << "gradient " << i;
}

TEST(LayersByTokens, AreThoseByRows) {
  const auto layer = make_layer(LayerKind::kNaive, {.cell = Cell::kLstm, .input_size = 6, .hidden_size = 5});
  expect_same_by_tokens(*layer, numbers_of({4, 6}, 1), some_tokens(4, 7, 3), 1e-6);
}

// Groups of one block, of a cluster, of teams, and over the whole GPU, some of them in parts of the steps. Only large
// products have float16 operands.
TEST(LayersByTokens, AreThoseByRowsInAPersistentLayerToo) {
  if (!has_own_kernels_here()) GTEST_SKIP() << "needs own kernels on a GPU";
  constexpr std::array<std::pair<int64_t, int64_t>, 7> kSizes = {
      {{72, 64}, {72, 3}, {128, 37}, {512, 64}, {512, 128}, {1024, 40}, {1024, 130}}};
  for (const NumberClass& numbers : kNumberClasses)
    for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
      for (const auto& [hidden_size, batch_size] : kSizes) {
        SCOPED_TRACE(fmt::format("{}, {} of {} for {}", numbers.name, config::name_of(cell), hidden_size, batch_size));
        const TensorFloat32 products(numbers);
        const auto layer = make_layer(
            LayerKind::kPersistent,
            {.cell = cell, .input_size = hidden_size, .hidden_size = hidden_size, .num_layers = 2, .dropout = 0});
        layer->to(at::kCUDA);
        const at::Tensor table = numbers_of({13, hidden_size}, 1).cuda(),
                         tokens = some_tokens(13, 48, batch_size).cuda();
        if (numbers.type == at::kFloat) {
          expect_same_by_tokens(*layer, table, tokens, numbers.tolerance);
        } else {
          const Autocast autocast(at::kCUDA, numbers.type);
          expect_same_by_tokens(*layer, table, tokens, numbers.tolerance);
        }
      }
}

}  // namespace
}  // namespace rnnlab
