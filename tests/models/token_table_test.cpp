#include "models/token_table.h"

#include <ATen/Context.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "models/small_models.h"
#include "recurrent/autocast.h"

namespace rnnlab {
namespace {

struct TableResults {
  at::Tensor rows, gradient;
};

template <class Rows>
TableResults results_of(const Rows& rows_of, const at::Tensor& table, const at::Tensor& tokens) {
  const at::Tensor leaf = table.detach().clone().requires_grad_();
  const at::Tensor rows = rows_of(leaf, tokens);
  (rows.to(at::kFloat) * seeded_randn(rows.sizes(), 5).to(rows.device())).sum().backward();
  return {rows.detach(), leaf.grad()};
}

TableResults by_rows_of_tokens(const at::Tensor& table, const at::Tensor& tokens) {
  return results_of([](const auto& a, const auto& b) { return rows_of_tokens(a, b); }, table, tokens);
}

TableResults by_embedding(const at::Tensor& table, const at::Tensor& tokens) {
  return results_of([](const auto& a, const auto& b) { return at::embedding(a, b); }, table, tokens);
}

at::Tensor some_tokens(int64_t num_rows) { return at::randint(num_rows, {40, 33}, at::detail::createCPUGenerator(7)); }

// By the product and, with a large table, by sorting.
TEST(RowsOfTokens, AreThoseOfAnEmbeddingWithItsGradient) {
  at::globalContext().setAllowTF32CuBLAS(false);
  for (const int64_t num_rows : {65, 1500})
    for (const at::DeviceType device : {at::kCPU, at::kCUDA}) {
      if (device == at::kCUDA && !torch::cuda::is_available()) continue;
      const at::Tensor table = seeded_randn({num_rows, 24}), tokens = some_tokens(num_rows);
      const auto got = by_rows_of_tokens(table.to(device), tokens.to(device)), wanted = by_embedding(table, tokens);
      EXPECT_TRUE(at::equal(got.rows.cpu(), wanted.rows)) << num_rows << " on " << device;
      EXPECT_TRUE(at::allclose(got.gradient.cpu(), wanted.gradient, 1e-5, 1e-5)) << num_rows << " on " << device;
    }
}

TEST(RowsOfTokens, HaveTheTypeOfAutocastAndAGradientInFloat32) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const at::Tensor table = seeded_randn({65, 24}).cuda(), tokens = some_tokens(65).cuda();
  const auto wanted = by_embedding(table, tokens);
  const Autocast autocast(at::kCUDA);
  const auto got = by_rows_of_tokens(table, tokens);
  EXPECT_EQ(got.rows.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(got.rows, wanted.rows.to(at::kBFloat16)));
  EXPECT_EQ(got.gradient.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(got.gradient, wanted.gradient, 1e-2, 1e-1));
}

}  // namespace
}  // namespace rnnlab
