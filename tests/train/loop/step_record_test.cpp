// SPDX-License-Identifier: Apache-2.0
#include "train/loop/step_record.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cmath>
#include <limits>

#include "train/models/small_models.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

std::vector<at::Device> devices() {
  std::vector<at::Device> all = {at::Device(at::kCPU)};
  if (torch::cuda::is_available()) all.emplace_back(at::kCUDA, 0);
  return all;
}

struct Ended {
  std::vector<float> row;
  float found_inf = 0;
  float clip_scale = 0;
};

// The gradients have the norms 5 and `norm`.
Ended end_with(at::Device device, float loss, float norm, const at::Tensor& skipped = {}, float found_inf = 0) {
  const auto scalar = [&](float value) {
    return at::scalar_tensor(value, at::TensorOptions().dtype(at::kFloat).device(device));
  };
  const std::vector<at::Tensor> gradients = {at::tensor({3.0F, -4.0F}).to(device), at::tensor({norm}).to(device)};
  at::Tensor flag = scalar(found_inf);
  const auto end = summarize_step(gradients, {scalar(loss), scalar(0.25F), scalar(7.0F), 10},
                                  skipped.defined() ? skipped.to(device) : skipped, flag, /*max_norm=*/6.5);
  EXPECT_EQ(end.step.count, 10);
  const at::Tensor row = end.step.row.cpu();
  return {{row.const_data_ptr<float>(), row.const_data_ptr<float>() + row.numel()},
          flag.item<float>(),
          end.clip_scale.item<float>()};
}

TEST(EndOfStep, TellsItsNumbersAndByHowMuchToClip) {
  for (const at::Device device : devices()) {
    const Ended end = end_with(device, 0.5F, 12.0F);
    EXPECT_THAT(end.row, ElementsAre(0.5F, 0.25F, 7.0F, 0.0F, 5.0F, 12.0F)) << device;
    EXPECT_EQ(end.found_inf, 0.0F) << device;
    EXPECT_FLOAT_EQ(end.clip_scale, 0.5F) << device;
    EXPECT_EQ(end_with(device, 0.5F, 1.0F).clip_scale, 1.0F) << device;
  }
}

TEST(EndOfStep, RaisesItsFlagForALossOrANormThatIsNotFiniteAndNeverLowersIt) {
  for (const at::Device device : devices()) {
    EXPECT_EQ(end_with(device, NAN, 12.0F).found_inf, 1.0F) << device;
    EXPECT_EQ(end_with(device, 0.5F, std::numeric_limits<float>::infinity()).found_inf, 1.0F) << device;
    EXPECT_EQ(end_with(device, 0.5F, 12.0F, {}, /*found_inf=*/1.0F).found_inf, 1.0F) << device;
  }
}

TEST(EndOfStep, CountsNoNormsOfASkippedStep) {
  for (const at::Device device : devices()) {
    const Ended end = end_with(device, 0.5F, NAN, at::scalar_tensor(1.0F));
    EXPECT_THAT(end.row, ElementsAre(0.5F, 0.25F, 7.0F, 1.0F, 0.0F, 0.0F)) << device;
    EXPECT_EQ(end.found_inf, 0.0F) << device;
    EXPECT_THAT(end_with(device, 0.5F, 12.0F, at::scalar_tensor(0.0F)).row,
                ElementsAre(0.5F, 0.25F, 7.0F, 0.0F, 5.0F, 12.0F))
        << device;
  }
}

// Kernels take at most 48 tensors at once.
TEST(EndOfStep, HasTheNormsOfManyGradientsOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  std::vector<at::Tensor> gradients;
  for (int64_t i = 0; i < 100; ++i) gradients.push_back(seeded_randn({1 + 97 * i}, static_cast<uint64_t>(i)).cuda());
  const at::Tensor one = at::ones({}, gradients[0].options());
  at::Tensor found_inf = at::zeros_like(one);
  const auto end = summarize_step(gradients, {one, one, one, 1}, {}, found_inf, /*max_norm=*/1.0);
  const at::Tensor norms = gradient_norms(gradients), row = end.step.row;
  EXPECT_TRUE(row.narrow(0, row.numel() - norms.numel(), norms.numel()).equal(norms));
  EXPECT_FLOAT_EQ(end.clip_scale.item<float>(), clip_scale(norms, 1.0).item<float>());
}

TEST(EndOfStep, HasNoScaleWithoutClipping) {
  at::Tensor flag = at::zeros({}, at::kFloat);
  const at::Tensor one = at::scalar_tensor(1.0F);
  EXPECT_FALSE(summarize_step({at::tensor({3.0F})}, {one, one, one, 1}, {}, flag, std::nullopt).clip_scale.defined());
}

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
