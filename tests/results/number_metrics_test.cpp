// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <vector>

#include "golden.h"
#include "results/metric_of.h"

namespace rnnlab {
namespace {

using testing::kUnknown;
using testing::metric_of;
using testing::reason_of;

PartScores of_numbers(const std::vector<double>& targets, const std::vector<double>& outputs, int64_t num_outputs = 1,
                      const std::vector<double>& naive_errors = {}) {
  return {.task = MetricTask::kNumbers,
          .num_outputs = num_outputs,
          .outputs = outputs,
          .targets = targets,
          .naive_errors = naive_errors};
}

// Two targets of three rows, of which one is missing.
const std::vector<double> kTwoTargets = {1, 10, 2, kUnknown, 3, 30};
const std::vector<double> kTwoOutputs = {2, 10, 2, 99, 3, 20};

TEST(R2, IsThePartOfTheVarianceThatIsExplained) {
  const std::vector<double> targets = {3, -0.5, 2, 7, kUnknown}, outputs = {2.5, 0, 2, 8, 5};
  EXPECT_NEAR(metric_of("r2", of_numbers(targets, outputs)), 1 - 1.5 / 29.1875, 1e-12);
}

TEST(R2, IsNoneOfTheMeanAndLessForWorse) {
  const std::vector<double> targets = {1, 2, 3}, mean = {2, 2, 2}, worse = {3, 2, 1};
  EXPECT_DOUBLE_EQ(metric_of("r2", of_numbers(targets, mean)), 0);
  EXPECT_DOUBLE_EQ(metric_of("r2", of_numbers(targets, worse)), -3);
  EXPECT_DOUBLE_EQ(metric_of("r2", of_numbers(targets, targets)), 1);
}

TEST(R2, IsTheMeanOverTargets) {
  EXPECT_DOUBLE_EQ(metric_of("r2", of_numbers(kTwoTargets, kTwoOutputs, 2)), ((1 - 1.0 / 2) + (1 - 100.0 / 200)) / 2);
}

// The mean of three times 0.1 is not 0.1 in float64.
TEST(R2, IsNotDefinedForEqualTargets) {
  const std::vector<double> targets = {0.1, 0.1, 0.1}, outputs = {0.1, 0.2, 0.1}, one = {4};
  expect_golden(reason_of("r2", of_numbers(targets, outputs)));
  expect_golden(reason_of("r2", of_numbers(one, one)));
  const std::vector<double> second = {1, 5, 2, 5, 3, kUnknown};
  expect_golden(reason_of("r2", of_numbers(second, second, 2)));
}

TEST(R2, IsNotDefinedWithoutAKnownTarget) {
  const std::vector<double> targets = {1, kUnknown, 2, kUnknown}, outputs = {1, 1, 1, 1};
  expect_golden(reason_of("r2", of_numbers(targets, outputs, 2)));
}

TEST(Mase, IsTheErrorOverTheNaiveErrorOfTheTrainingPart) {
  const std::vector<double> targets = {1, 2, 3, kUnknown}, outputs = {2, 2, 5, 0};
  EXPECT_DOUBLE_EQ(metric_of("mase", of_numbers(targets, outputs, 1, {0.5})), 2);
}

TEST(Mase, IsTheMeanOverTargets) {
  EXPECT_DOUBLE_EQ(metric_of("mase", of_numbers(kTwoTargets, kTwoOutputs, 2, {0.5, 10})), (2.0 / 3 + 0.5) / 2);
}

TEST(Mase, IsNotDefinedWithoutANaiveError) {
  const std::vector<double> targets = {1, 2};
  expect_golden(reason_of("mase", of_numbers(targets, targets)));
  expect_golden(reason_of("mase", of_numbers(targets, targets, 1, {0})));
  expect_golden(reason_of("mase", of_numbers(targets, targets, 1, {kUnknown})));
  expect_golden(reason_of("mase", of_numbers(targets, targets, 2, {1, 0})));
}

TEST(Smape, IsThePercentageOfTheMeanSize) {
  const std::vector<double> targets = {100, -50, kUnknown, 80}, outputs = {110, -50, 7, 120};
  EXPECT_NEAR(metric_of("smape", of_numbers(targets, outputs)), (2000.0 / 210 + 0 + 8000.0 / 200) / 3, 1e-12);
}

TEST(Smape, IsFromZeroToTwoHundred) {
  const std::vector<double> zeros = {0, 0}, other = {5, 0}, signs = {-5, 5};
  EXPECT_DOUBLE_EQ(metric_of("smape", of_numbers(zeros, zeros)), 0) << "zero over zero";
  EXPECT_DOUBLE_EQ(metric_of("smape", of_numbers(zeros, other)), 100);
  EXPECT_DOUBLE_EQ(metric_of("smape", of_numbers(other, signs)), (200 + 200) / 2.0);
}

}  // namespace
}  // namespace rnnlab
