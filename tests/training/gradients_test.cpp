#include "training/gradients.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cmath>
#include <limits>

#include "models/small_models.h"
#include "training/step_record.h"

namespace rnnlab {
namespace {

std::vector<at::Tensor> three_four_and_twelve() { return {at::tensor({3.0F, -4.0F}), at::tensor({12.0F})}; }

TEST(GradientNorms, AreEuclidean) {
  const auto norms = gradient_norms(three_four_and_twelve());
  EXPECT_EQ(norms[0].item<double>(), 5.0);
  EXPECT_EQ(norms[1].item<double>(), 12.0);
}

TEST(GradientNorms, OnAGpuAreThoseOfTheCpuWhateverTheSizes) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  std::vector<at::Tensor> here, there;
  for (int64_t i = 0; i < 60; ++i) {  // more than one launch takes, and of one piece and several
    here.push_back(seeded_randn({i % 7 == 0 ? 5000 + i : 1 + i}, static_cast<uint64_t>(i)));
    there.push_back(here.back().cuda());
  }
  const at::Tensor expected = gradient_norms(here);
  EXPECT_TRUE(at::allclose(gradient_norms(there).cpu(), expected, 1e-5, 0));
  there[59].fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(gradient_norms(there)[59].item<float>()));
}

TEST(ClipScale, BringsTheNormOfAllGradientsToTheLargestAllowed) {
  EXPECT_FLOAT_EQ(clip_scale(gradient_norms(three_four_and_twelve()), 6.5).item<float>(), 0.5F);  // 13 in all
}

TEST(ClipScale, LeavesSmallGradientsAlone) {
  EXPECT_EQ(clip_scale(gradient_norms(three_four_and_twelve()), 13.1).item<float>(), 1.0F);
}

TEST(ClipScale, IsFiniteWhereAllGradientsAreZero) {
  EXPECT_EQ(clip_scale(gradient_norms({at::tensor({0.0F, 0.0F})}), 1.0).item<float>(), 1.0F);
}

TEST(ClipByValue, ClampsEachElement) {
  const auto gradients = three_four_and_twelve();
  clip_by_value(gradients, 3.5);
  EXPECT_TRUE(at::allclose(gradients[0], at::tensor({3.0F, -3.5F}), 0, 0));
  EXPECT_TRUE(at::allclose(gradients[1], at::tensor({3.5F}), 0, 0));
}

TEST(StepRecord, GivesBackItsRowsInOrderAndIsEmptyAgain) {
  StepRecord record(/*num_gradient_norms=*/2, at::Device(at::kCPU), /*capacity=*/2);
  const auto gradients = three_four_and_twelve();
  const auto norms = gradient_norms(gradients);
  const auto first = evaluated_step({at::scalar_tensor(0.5), at::scalar_tensor(0.4), at::scalar_tensor(7.0), 10},
                                    at::scalar_tensor(0.0), norms);
  const auto second = evaluated_step({at::scalar_tensor(0.25), at::scalar_tensor(0.2), at::scalar_tensor(8.0), 4},
                                     at::scalar_tensor(1.0), norms);
  record.append(at::stack({first.row, second.row}), {first.count, second.count});
  EXPECT_TRUE(record.full());
  EXPECT_EQ(record.loss(0), 0.5);
  EXPECT_EQ(record.loss(1), 0.25);
  const auto rows = record.take();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].loss, 0.5);
  EXPECT_FLOAT_EQ(static_cast<float>(rows[0].weighted_loss), 0.4F);
  EXPECT_EQ(rows[0].metric_sum, 7.0);
  EXPECT_EQ(rows[0].count, 10);
  EXPECT_FALSE(rows[0].skipped);
  EXPECT_TRUE(rows[1].skipped);
  EXPECT_EQ(rows[1].count, 4);
  EXPECT_EQ(rows[1].gradient_norms, (std::vector<double>{5.0, 12.0}));
  EXPECT_EQ(record.size(), 0);
}

}  // namespace
}  // namespace rnnlab
