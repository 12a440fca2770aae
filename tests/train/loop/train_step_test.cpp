// SPDX-License-Identifier: Apache-2.0
#include "train/loop/train_step.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cmath>
#include <limits>

#include "train/loop/toy.h"

namespace rnnlab {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

double value_of(const LossScale& scale) { return scale.value().item<double>(); }

bool skips(LossScale& scale, const at::Tensor& gradient) {
  const std::vector<at::Tensor> gradients = {gradient};
  return scale.unscale(gradients).item<double>() != 0;
}

TEST(LossScale, DividesTheGradientsBack) {
  LossScale scale{at::kCPU};
  const at::Tensor gradient = at::tensor({3.0F, -5.0F}) * scale.value();
  EXPECT_FALSE(skips(scale, gradient));
  EXPECT_TRUE(gradient.equal(at::tensor({3.0F, -5.0F})));
  EXPECT_EQ(value_of(scale), 65536);
}

TEST(LossScale, HalvesWhereAGradientOverflows) {
  LossScale scale{at::kCPU};
  EXPECT_TRUE(skips(scale, at::tensor({1.0F, kInf})));
  EXPECT_EQ(value_of(scale), 32768);
  EXPECT_TRUE(skips(scale, at::tensor({std::nanf("")})));
  EXPECT_FALSE(skips(scale, at::tensor({1.0F})));
  EXPECT_EQ(value_of(scale), 16384);
}

TEST(LossScale, DoublesAfterTwoThousandGoodSteps) {
  LossScale scale{at::kCPU};
  for (int i = 0; i < 1999; ++i) skips(scale, at::tensor({1.0F}));
  EXPECT_EQ(value_of(scale), 65536);
  skips(scale, at::tensor({1.0F}));
  EXPECT_EQ(value_of(scale), 131072);
}

TEST(LossScale, BlamesItselfNoLongerOnceItIsOne) {
  LossScale scale{at::kCPU};
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(skips(scale, at::tensor({kInf})));
  EXPECT_EQ(value_of(scale), 1);
  EXPECT_FALSE(skips(scale, at::tensor({kInf}))) << "the gradient is not finite with any scale";
}

class TrainingInFloat16 : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
    options_.device = at::Device(at::kCUDA, 0);
    options_.precision = Precision::kFp16;
    options_.settings.cuda_graph = GetParam();
    options_.settings.epochs = 6;
    options_.settings.learning_rate = 0.03;
  }
  TrainerOptions options_ = toy_options();
};
INSTANTIATE_TEST_SUITE_P(Steps, TrainingInFloat16, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "AsGraphs" : "OneByOne"; });

TEST_P(TrainingInFloat16, Learns) {
  const auto run = run_toy(toy_dataset(), options_);
  EXPECT_LT(run.seen.rows.back().train_loss, run.seen.rows.front().train_loss - 0.1);
}

TEST_P(TrainingInFloat16, GoesOnAfterAnOverflow) {
  auto dataset = toy_dataset();
  dataset.train.inputs.mul_(2e3);  // of float32 weights' gradients, times 65536: beyond float16
  options_.settings.optimizer = OptimizerKind::kSgd;
  options_.settings.learning_rate = 1e-6;
  const auto run = run_toy(dataset, options_);
  EXPECT_GT(run.seen.rows.front().skipped_steps, 0);
  EXPECT_EQ(run.seen.rows.back().skipped_steps, 0);
  EXPECT_TRUE(std::isfinite(*run.seen.rows.back().gradient_norm));
}

TEST_P(TrainingInFloat16, EndsWhereNoScaleHelps) {
  auto dataset = toy_dataset();
  dataset.train.inputs.select(1, 0).fill_(kInf);  // in every batch, so that the scale falls at every step
  EXPECT_THROW(run_toy(dataset, options_), UserError);
}

}  // namespace
}  // namespace rnnlab
