// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "golden.h"
#include "results/metric_of.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::kUnknown;
using testing::metric_of;
using testing::reason_of;

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
  const std::vector<double> targets = {1, 1, 0, 0, kUnknown}, logits = {2, -1, -3, 0, 7};
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

TEST(RocAuc, CountsThePairsInTheRightOrder) {
  const std::vector<double> targets = {0, 0, 1, 1}, logits = {0.1, 0.4, 0.35, 0.8};
  EXPECT_DOUBLE_EQ(metric_of("roc_auc", of_binary(targets, logits)), 0.75);
}

TEST(RocAuc, CountsEqualScoresHalf) {
  const std::vector<double> targets = {0, 1, 1, 0, kUnknown}, logits = {1, 1, 2, 0, 50};
  EXPECT_DOUBLE_EQ(metric_of("roc_auc", of_binary(targets, logits)), 3.5 / 4);
  const std::vector<double> equal = {3, 3, 3, 3, 3};
  EXPECT_DOUBLE_EQ(metric_of("roc_auc", of_binary(targets, equal)), 0.5);
}

TEST(RocAuc, IsTheMeanOverBinaryTargets) {
  const std::vector<double> targets = {0, 1, 1, 0}, logits = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(metric_of("roc_auc", of_binary(targets, logits, 2)), 0.5);
}

// Compared with its definition on probabilities.
TEST(RocAuc, IsOfEachClassAgainstTheOthers) {
  const std::vector<int64_t> classes = {0, 1, 1, 1, 2, 2};
  std::vector<double> areas;
  for (int64_t a_class = 0; a_class < 3; ++a_class) {
    double wins = 0, pairs = 0;
    const auto p = [&](size_t row) {
      double sum = 0;
      for (size_t i = 0; i < 3; ++i) sum += std::exp(kLogits[row * 3 + i]);
      return std::exp(kLogits[row * 3 + static_cast<size_t>(a_class)]) / sum;
    };
    for (size_t a = 0; a < 6; ++a)
      for (size_t b = 0; b < 6; ++b) {
        if (classes[a] != a_class || classes[b] == a_class) continue;
        wins += p(a) > p(b) ? 1 : p(a) == p(b) ? 0.5 : 0;
        ++pairs;
      }
    areas.push_back(wins / pairs);
  }
  EXPECT_DOUBLE_EQ(metric_of("roc_auc", of_classes(classes, kLogits, 3)), (areas[0] + areas[1] + areas[2]) / 3);
}

// Float64 rounds all of these probabilities to 1.
TEST(RocAuc, OrdersProbabilitiesNearOne) {
  const std::vector<int64_t> classes = {0, 1, 1};
  const std::vector<double> logits = {0, 60, 0, 80, 0, 100};
  EXPECT_DOUBLE_EQ(metric_of("roc_auc", of_classes(classes, logits, 2)), 1);
}

TEST(RocAuc, IsNotDefinedWithoutTwoKindsOfTargets) {
  const std::vector<double> ones = {1, 1}, zeros = {0, 0}, logits = {1, 2};
  EXPECT_EQ(reason_of("roc_auc", of_binary(ones, logits)), "all targets are 1");
  EXPECT_EQ(reason_of("roc_auc", of_binary(zeros, logits)), "no target is 1");
  const std::vector<int64_t> classes = {0, 1, 1, 1, 0, 0};
  expect_golden(reason_of("roc_auc", of_classes(classes, kLogits, 3)));
}

}  // namespace
}  // namespace rnnlab
