#include "bench/estimate.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace rnnlab {
namespace {

void expect_estimate(const Estimate& estimate, double value, double low, double high) {
  EXPECT_DOUBLE_EQ(estimate.value, value);
  EXPECT_DOUBLE_EQ(estimate.low, low);
  EXPECT_DOUBLE_EQ(estimate.high, high);
}

TEST(Estimate, PartsAreDifferencesOfTheNestedPrograms) {
  const PartTimes parts =
      part_times({.forward = {1, 1, 1, 1, 1, 1}, .forward_data = {3, 3, 3, 3, 3, 3}, .all = {7, 7, 7, 7, 7, 7}});
  expect_estimate(parts.forward, 1, 1, 1);
  expect_estimate(parts.backward_data, 2, 2, 2);
  expect_estimate(parts.backward_weights, 4, 4, 4);
  expect_estimate(parts.total, 7, 7, 7);
}

TEST(Estimate, AProgramsIntervalIsThatOfOrderStatistics) {
  const PartTimes parts =
      part_times({.forward = {3, 1, 2, 6, 5, 4}, .forward_data = {9, 9, 9, 9, 9, 9}, .all = {9, 9, 9, 9, 9, 9}});
  expect_estimate(parts.forward, 3.5, 1, 6);
}

TEST(Estimate, WhatSlowsDownAWholeRoundCancelsInTheDifference) {
  const std::vector<double> part = {1, 2, 3, 4, 5, 6, 7};
  std::vector<double> whole;
  for (const double value : part) whole.push_back(value + 10);
  expect_estimate(difference(whole, part), 10, 10, 10);
}

TEST(Estimate, ADifferenceHasAnIntervalAroundIt) {
  const Estimate estimate = difference({10, 11, 12, 13, 14, 15, 16}, {3, 1, 2, 1, 3, 2, 2});
  EXPECT_DOUBLE_EQ(estimate.value, 11);
  EXPECT_LT(estimate.low, 11);
  EXPECT_GT(estimate.high, 11);
  EXPECT_GE(estimate.low, 10 - 3);
  EXPECT_LE(estimate.high, 16 - 1);
}

TEST(Estimate, TheSameSamplesGiveTheSameInterval) {
  const std::vector<double> whole = {10, 11, 12, 13, 14, 15, 16}, part = {3, 1, 2, 1, 3, 2, 2};
  const Estimate first = difference(whole, part), second = difference(whole, part);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
}

TEST(Estimate, ADifferenceNeedsRoundsInPairs) {
  EXPECT_THROW(difference({1, 2}, {1}), InvariantError);
  EXPECT_THROW(difference({}, {}), InvariantError);
}

TEST(Estimate, RatioOfDifferences) {
  const std::vector<double> one = {1, 1, 1}, three = {3, 3, 3}, five = {5, 5, 5};
  const auto halved = ratio(Difference{three, one}, Difference{five, one});
  ASSERT_TRUE(halved);
  expect_estimate(*halved, 0.5, 0.5, 0.5);
}

TEST(Estimate, NoRatioOverADifferenceThatMayBeNothing) {
  const std::vector<double> one = {1, 1, 1}, noisy = {0.9, 1.5, 2};
  EXPECT_FALSE(ratio(Difference{noisy, one}, Difference{one, one}));
  EXPECT_FALSE(ratio(Difference{one, one}, Difference{noisy, one}));
}

}  // namespace
}  // namespace rnnlab
