// SPDX-License-Identifier: Apache-2.0
#include "train/loop/losses.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "train/loop/objective.h"
#include "train/loop/toy.h"

namespace rnnlab {
namespace {

// A kind that the list lacks is a defect of rnnlab, and not taken for another.
TEST(Losses, HaveARecordForEachNameExceptAuto) {
  std::set<const LossInfo*> records;
  for (const auto& [kind, name] : config::EnumNames<LossKind>::kNames)
    if (kind != LossKind::kAuto) records.insert(&info_of(kind));
  EXPECT_EQ(records.size() + 1, config::EnumNames<LossKind>::kNames.size());
  EXPECT_THROW(info_of(LossKind::kAuto), InvariantError);
  EXPECT_THROW(info_of(static_cast<LossKind>(99)), InvariantError);
}

TEST(Losses, OfEachTaskIsTheOneThatAutoTakes) {
  EXPECT_EQ(natural_loss(Task::kClassification), LossKind::kCrossEntropy);
  EXPECT_EQ(natural_loss(Task::kLanguageModel), LossKind::kCrossEntropy);
  EXPECT_EQ(natural_loss(Task::kBinary), LossKind::kBinaryCrossEntropy);
  EXPECT_EQ(natural_loss(Task::kRegression), LossKind::kMse);
  EXPECT_EQ(names_of_losses(LossTargets::kNumbers), "mse, mae, huber, quantile, gaussian, student or poisson");
  EXPECT_EQ(names_of_distributions(), "quantile, gaussian, student or poisson");
}

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Returns the evaluation of outputs against targets, two samples with two numbers each.
Evaluation evaluated(LossKind loss, const at::Tensor& output, const std::vector<double>& targets, double scale = 1.0) {
  FittedData data;
  data.shape.task = Task::kRegression;
  data.shape.num_outputs = 2;
  if (scale != 1.0)
    data.target_scales = {{.name = "a", .offset = 0, .scale = 1}, {.name = "b", .offset = 0, .scale = scale}};
  Batch batch;
  batch.targets = at::tensor(targets, at::kFloat).view({2, 2});
  int64_t known = 0;
  for (const double target : targets) known += std::isnan(target) ? 0 : 1;
  if (known < 4) batch.target_counts = at::tensor({known / 2, known - known / 2}, at::kLong);
  return Objective(with_loss(loss), data, at::kCPU).evaluate(output, batch);
}

at::Tensor outputs() { return at::tensor({0.5, -2.0, 1.0, 4.0}, at::kFloat).view({2, 2}).requires_grad_(); }

// The errors are 0.5, -2, 0 and 3.
TEST(MeanAbsoluteError, IsTheMeanOfAbsoluteErrors) {
  const at::Tensor output = outputs();
  const Evaluation result = evaluated(LossKind::kMae, output, {0, 0, 1, 1});
  EXPECT_NEAR(result.loss.item<double>(), (0.5 + 2 + 0 + 3) / 4, 1e-6);
  EXPECT_NEAR(result.metric_sum.item<double>(), 5.5, 1e-6);
  EXPECT_NEAR(result.weighted_loss.item<double>(), (0.25 + 4 + 0 + 9) / 4, 1e-6) << "for the RMSE";
  result.loss.backward();
  EXPECT_TRUE(output.grad().equal(at::tensor({0.25, -0.25, 0.0, 0.25}, at::kFloat).view({2, 2})));
}

TEST(Huber, IsHalfTheSquareUpToOneAndLinearBeyond) {
  const at::Tensor output = outputs();
  const Evaluation result = evaluated(LossKind::kHuber, output, {0, 0, 1, 1});
  EXPECT_NEAR(result.loss.item<double>(), (0.125 + 1.5 + 0 + 2.5) / 4, 1e-6);
  EXPECT_NEAR(result.metric_sum.item<double>(), 5.5, 1e-6);
  EXPECT_NEAR(result.weighted_loss.item<double>(), (0.25 + 4 + 0 + 9) / 4, 1e-6) << "for the RMSE";
  result.loss.backward();
  EXPECT_TRUE(output.grad().equal(at::tensor({0.125, -0.25, 0.0, 0.25}, at::kFloat).view({2, 2})));
}

TEST(LossesOfNumbers, LeaveOutMissingTargets) {
  for (const auto& [loss, expected] : {std::pair{LossKind::kMse, (0.25 + 4) / 2},
                                       {LossKind::kMae, (0.5 + 2) / 2},
                                       {LossKind::kHuber, (0.125 + 1.5) / 2}}) {
    SCOPED_TRACE(config::name_of(loss));
    const at::Tensor output = outputs();
    const Evaluation result = evaluated(loss, output, {0, 0, kMissing, kMissing});
    EXPECT_NEAR(result.loss.item<double>(), expected, 1e-6);
    EXPECT_NEAR(result.metric_sum.item<double>(), 2.5, 1e-6);
    EXPECT_NEAR(result.weighted_loss.item<double>(), 4.25 / 2, 1e-6);
    EXPECT_EQ(result.count, 2);
    result.loss.backward();
    EXPECT_EQ(output.grad()[1].abs().sum().item<double>(), 0.0);
  }
}

// The second target has half the unit of the first, so its errors count half for MAE and RMSE, and fully for the loss.
TEST(LossesOfNumbers, WeightOnlyMetricsByTheUnitsOfTargets) {
  for (const auto& [loss, expected] : {std::pair{LossKind::kMae, 5.5 / 4}, {LossKind::kHuber, 4.125 / 4}}) {
    const Evaluation result = evaluated(loss, outputs(), {0, 0, 1, 1}, 0.5);
    EXPECT_NEAR(result.loss.item<double>(), expected, 1e-6);
    EXPECT_NEAR(result.metric_sum.item<double>(), 0.5 + 1 + 0 + 1.5, 1e-6);
    EXPECT_NEAR(result.weighted_loss.item<double>(), (0.25 + 1 + 0 + 2.25) / 4, 1e-6);
  }
}

}  // namespace
}  // namespace rnnlab
