// SPDX-License-Identifier: Apache-2.0
#include "train/loop/ridge.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "golden.h"
#include "train/loop/baseline.h"

namespace rnnlab {
namespace {

// Windows of 2 steps of 2 features. Targets are linear in them.
Dataset linear(int64_t num_train, int64_t num_valid) {
  const auto samples_of = [](int64_t first, int64_t count) {
    const at::Tensor rows = at::arange(first, first + count, at::kDouble).unsqueeze(1);
    const at::Tensor inputs = at::cat({(rows * 0.7).sin(), (rows * 1.3).cos(), (rows * 2.1).sin(), rows * 0.01}, 1);
    const at::Tensor targets = at::cat({inputs.select(1, 0) * 3 - inputs.select(1, 2) + 5, inputs.select(1, 3)}, 0);
    Samples samples;
    samples.inputs = inputs.view({count, 2, 2}).to(at::kFloat);
    samples.targets = targets.view({2, count}).t().contiguous().to(at::kFloat);
    return samples;
  };
  Dataset data;
  data.shape = {Task::kRegression, 2, 2, 2, false};
  data.train = samples_of(0, num_train);
  data.valid = samples_of(num_train, num_valid);
  data.naive_forecasts = {{"last value", data.valid.targets}};
  return data;
}

TEST(Ridge, FindsWhatIsLinear) {
  const Dataset data = linear(2'000, 100);
  const at::Tensor forecast = ridge_forecast(data).value();
  EXPECT_LT((forecast - data.valid.targets).select(1, 0).abs().max().item<double>(), 0.02);
}

TEST(Ridge, HasThePenaltyOneOnScaledInputs) {
  const Dataset data = linear(40, 8);
  const at::Tensor inputs = data.train.inputs.flatten(1).to(at::kDouble), mean = inputs.mean(0);
  const at::Tensor deviation = (inputs - mean).square().mean(0).sqrt(), scaled = (inputs - mean) / deviation;
  const at::Tensor targets = data.train.targets.to(at::kDouble), offset = targets.mean(0);
  const at::Tensor weights =
      at::linalg_solve(scaled.t().matmul(scaled) + at::eye(4, at::kDouble), scaled.t().matmul(targets - offset));
  const at::Tensor valid = (data.valid.inputs.flatten(1).to(at::kDouble) - mean) / deviation;
  const at::Tensor wanted = valid.matmul(weights) + offset;
  EXPECT_LT((ridge_forecast(data).value() - wanted).abs().max().item<double>(), 1e-5);
}

TEST(Ridge, ReadsNoTargetOfValidation) {
  Dataset data = linear(50, 10);
  const at::Tensor forecast = ridge_forecast(data).value();
  data.valid.targets = data.valid.targets.mul(-100);
  EXPECT_TRUE(ridge_forecast(data).value().equal(forecast));
}

TEST(Ridge, LeavesOutWindowsWithoutATarget) {
  Dataset data = linear(51, 10), without = linear(50, 10);
  without.valid = data.valid;
  data.train.targets[50][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(ridge_forecast(data).value().equal(ridge_forecast(without).value()));
}

TEST(Ridge, IsABaselineOfSeriesOnly) {
  Dataset data = linear(50, 10);
  EXPECT_EQ(baselines(data, LossKind::kMse).back().name, "ridge regression of the window");
  EXPECT_FALSE(note_on_ridge(data));
  data.naive_forecasts = {};
  EXPECT_FALSE(ridge_forecast(data));
}

TEST(Ridge, IsLeftOutWhereItTakesLong) {
  Dataset data = linear(20, 10);
  data.train.inputs = at::zeros({20, 1'001, 2});
  data.valid.inputs = at::zeros({10, 1'001, 2});
  EXPECT_FALSE(ridge_forecast(data));
  expect_golden(note_on_ridge(data).value());
  data.train.inputs = at::zeros({20, 1'000, 2});
  data.valid.inputs = at::zeros({10, 1'000, 2});
  EXPECT_TRUE(ridge_forecast(data));
}

}  // namespace
}  // namespace rnnlab
