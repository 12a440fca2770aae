#include "training/cross_entropy.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cmath>

#include "models/small_models.h"
#include "recurrent/on_cuda.h"
#include "training/own_kernels.h"

namespace rnnlab {
namespace {

class CrossEntropyOnCuda : public ByOwnKernels {};

at::Tensor classes_for(int64_t num_rows, int64_t num_classes) {
  return at::randint(num_classes, {num_rows}, at::detail::createCPUGenerator(5), at::kLong);
}

TEST_F(CrossEntropyOnCuda, IsLibTorchsLossGradientAndCount) {
  for (const auto& [rows, classes] :
       std::vector<std::pair<int64_t, int64_t>>{{128, 10}, {1, 1}, {3, 33}, {9000, 65}, {130, 1000}}) {
    SCOPED_TRACE(fmt::format("{} x {}", rows, classes));
    const at::Tensor drawn = seeded_randn({rows, classes}) * 3, wanted = classes_for(rows, classes);
    const at::Tensor exact = drawn.to(at::kDouble).requires_grad_();
    const at::Tensor loss = at::cross_entropy_loss(exact, wanted);
    (loss * 0.5).backward();
    const at::Tensor logits = drawn.cuda().requires_grad_();
    const auto result = cross_entropy_on_gpu(logits, wanted.cuda());
    (result.loss * 0.5).backward();
    EXPECT_NEAR(result.loss.item<double>(), loss.item<double>(), 1e-5 * (1 + loss.item<double>()));
    EXPECT_EQ(result.num_right.item<double>(), drawn.argmax(-1).eq(wanted).sum().item<double>());
    const at::Tensor difference = logits.grad().cpu().to(at::kDouble) - exact.grad();
    EXPECT_LE(difference.abs().max().item<double>(), 1e-6 / static_cast<double>(rows));
  }
}

CrossEntropyResult of_one_row(std::vector<float> logits, int64_t wanted) {
  const auto row = at::tensor(logits).view({1, -1}).cuda();
  return cross_entropy_on_gpu(row, at::tensor({wanted}, at::kLong).cuda());
}

TEST_F(CrossEntropyOnCuda, TakesTheFirstOfEqualsForTheAnswer) {
  EXPECT_EQ(of_one_row({1, 4, 4, 4}, 1).num_right.item<double>(), 1);
  EXPECT_EQ(of_one_row({1, 4, 4, 4}, 2).num_right.item<double>(), 0);
}

TEST_F(CrossEntropyOnCuda, StaysFiniteWhereExponentialsWouldNot) {
  EXPECT_NEAR(of_one_row({1000, 0}, 1).loss.item<double>(), 1000, 1e-3);
  EXPECT_NEAR(of_one_row({1000, 0}, 0).loss.item<double>(), 0, 1e-6);
}

TEST_F(CrossEntropyOnCuda, IsNaNForNaNAndForNoClass) {
  EXPECT_TRUE(std::isnan(of_one_row({0, NAN}, 0).loss.item<double>()));
  EXPECT_TRUE(std::isnan(of_one_row({0, 1}, 2).loss.item<double>()));
  EXPECT_TRUE(std::isnan(of_one_row({0, 1}, -1).loss.item<double>()));
}

TEST(OwnKernels, SuitDenseFloat32TensorsOfAGpu) {
  EXPECT_FALSE(suit_own_kernels(at::zeros({2, 3})));
  EXPECT_FALSE(suit_own_kernels(std::vector<at::Tensor>{}));
  if (!has_own_kernels_here()) GTEST_SKIP() << "needs own kernels on a GPU";
  const at::Tensor floats = at::zeros({4, 6}).cuda();
  EXPECT_TRUE(suit_own_kernels(floats));
  EXPECT_TRUE(suit_own_kernels(floats.t()));
  EXPECT_FALSE(suit_own_kernels(floats.narrow(1, 0, 3)));
  EXPECT_FALSE(suit_own_kernels(floats.to(at::kDouble)));
  EXPECT_FALSE(suit_own_kernels(std::vector<at::Tensor>{floats, at::zeros({2})}));
}

}  // namespace
}  // namespace rnnlab
