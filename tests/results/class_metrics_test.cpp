// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

#include "results/metric_of.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::metric_of;
using testing::reason_of;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Logits that predict the classes 0 0 1 1 2 0 of six rows.
const std::vector<double> kLogits = {3, 1, 0, 2, 0, 1, 0, 5, 1, 1, 2, 0, 0, 0, 9, 4, 0, 0};

PartScores of_classes(const std::vector<int64_t>& classes, const std::vector<double>& outputs, int64_t num_classes) {
  return {.task = MetricTask::kClasses, .num_outputs = num_classes, .outputs = outputs, .classes = classes};
}

PartScores of_binary(const std::vector<double>& targets, const std::vector<double>& outputs, int64_t num_outputs = 1) {
  return {.task = MetricTask::kBinary, .num_outputs = num_outputs, .outputs = outputs, .targets = targets};
}

TEST(MacroF1, IsTheMeanOverClasses) {
  const std::vector<int64_t> classes = {0, 1, 1, 1, 2, 2};
  // Class 0: 2 * 1 / (1 + 3); class 1: 2 * 2 / (3 + 2); class 2: 2 * 1 / (2 + 1).
  EXPECT_DOUBLE_EQ(metric_of("macro_f1", of_classes(classes, kLogits, 3)), (0.5 + 0.8 + 2.0 / 3) / 3);
}

TEST(MacroF1, LeavesOutMissingTargetsAndClassesThatNothingHas) {
  const std::vector<int64_t> classes = {0, -1, 1, 1, -1, 0};
  EXPECT_DOUBLE_EQ(metric_of("macro_f1", of_classes(classes, kLogits, 3)), 1);
}

TEST(MacroF1, CountsAClassThatOnlyPredictionsHave) {
  const std::vector<int64_t> classes = {0, 0, 0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(metric_of("macro_f1", of_classes(classes, kLogits, 3)), (2 * 3.0 / (6 + 3)) / 3);
}

TEST(MacroF1, HasTwoClassesForABinaryTarget) {
  const std::vector<double> targets = {1, 1, 0, 0, kNan}, logits = {2, -1, -3, 0, 7};
  // The class 1 has an F1 of 2 * 1 / (2 + 1), and the class 0 one of 2 * 2 / (2 + 3): a logit of 0 predicts 0.
  EXPECT_DOUBLE_EQ(metric_of("macro_f1", of_binary(targets, logits)), (2.0 / 3 + 0.8) / 2);
}

TEST(MacroF1, IsNotDefinedForSeveralBinaryTargets) {
  const std::vector<double> targets = {1, 0, 0, 1}, logits = {1, 1, 1, 1};
  EXPECT_THAT(reason_of("macro_f1", of_binary(targets, logits, 2)), HasSubstr("several binary targets"));
}

TEST(BalancedAccuracy, IsTheMeanRecallOfTheClassesThatTargetsHave) {
  const std::vector<int64_t> classes = {0, 1, 1, 1, 0, 0};
  EXPECT_DOUBLE_EQ(metric_of("balanced_accuracy", of_classes(classes, kLogits, 3)), (2.0 / 3 + 2.0 / 3) / 2);
  const std::vector<int64_t> same = {0, 0, 0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(metric_of("balanced_accuracy", of_classes(same, kLogits, 3)), 0.5) << "one class only";
}

TEST(BalancedAccuracy, DiffersFromTheAccuracyOfRareClasses) {
  const std::vector<double> targets = {0, 0, 0, 1}, logits = {-1, -1, -1, -1};
  EXPECT_DOUBLE_EQ(metric_of("balanced_accuracy", of_binary(targets, logits)), 0.5);
}

}  // namespace
}  // namespace rnnlab
