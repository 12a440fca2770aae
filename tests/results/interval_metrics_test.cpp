// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "golden.h"
#include "results/metric_of.h"

namespace rnnlab {
namespace {

using testing::kUnknown;
using testing::metric_of;
using testing::reason_of;

// Four targets with the interval from 0 to 10 and a median of 4; one is missing, one is on the border, one outside.
const std::vector<double> kTargets = {3, kUnknown, 10, 12};
const std::vector<double> kLevels = {0.1, 0.5, 0.9};
const std::vector<double> kQuantiles = {0, 4, 10, 0, 4, 10, 0, 4, 10, 0, 4, 10};

PartScores with_quantiles() {
  return {.task = MetricTask::kNumbers, .targets = kTargets, .levels = kLevels, .quantiles = kQuantiles};
}

TEST(Coverage, IsThePartOfTheTargetsWithinTheInterval) {
  EXPECT_DOUBLE_EQ(metric_of("coverage", with_quantiles()), 2.0 / 3);
}

TEST(Width, IsTheMeanLengthOfTheInterval) { EXPECT_DOUBLE_EQ(metric_of("width", with_quantiles()), 10); }

TEST(Crps, IsTwiceTheMeanPinballLoss) {
  const double of_first = 0.1 * 3 + 0.5 * 1 + 0.1 * 7;
  const double of_second = 0.1 * 10 + 0.5 * 6 + 0, of_third = 0.1 * 12 + 0.5 * 8 + 0.9 * 2;
  EXPECT_DOUBLE_EQ(metric_of("crps", with_quantiles()), 2 * (of_first + of_second + of_third) / 3 / 3);
}

TEST(Crps, IsTheMeanAbsoluteErrorOfTheMedianAlone) {
  const std::vector<double> levels = {0.5}, medians = {4, 4, 4, 4};
  EXPECT_DOUBLE_EQ(
      metric_of("crps", {.task = MetricTask::kNumbers, .targets = kTargets, .levels = levels, .quantiles = medians}),
      (1.0 + 6 + 8) / 3);
}

TEST(IntervalMetrics, NeedADistribution) {
  const std::vector<double> outputs = {1, 2, 3, 4};
  expect_golden(reason_of("coverage", {.task = MetricTask::kNumbers, .outputs = outputs, .targets = kTargets}));
}

}  // namespace
}  // namespace rnnlab
