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
      part_times({{.forward = {1, 1, 1, 1, 1, 1}, .forward_data = {3, 3, 3, 3, 3, 3}, .all = {7, 7, 7, 7, 7, 7}}});
  expect_estimate(parts.forward, 1, 1, 1);
  expect_estimate(parts.backward_data, 2, 2, 2);
  expect_estimate(parts.backward_weights, 4, 4, 4);
  expect_estimate(parts.total, 7, 7, 7);
}

TEST(Estimate, AProgramsIntervalIsThatOfOrderStatistics) {
  const PartTimes parts =
      part_times({{.forward = {3, 1, 2, 6, 5, 4}, .forward_data = {9, 9, 9, 9, 9, 9}, .all = {9, 9, 9, 9, 9, 9}}});
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

Samples3 process(double forward, double forward_data, double all) {
  return {.forward = {forward}, .forward_data = {forward_data}, .all = {all}};
}

TEST(Estimate, OfSeveralProcessesIsTheMeanOfTheirMedians) {
  const PartTimes parts = part_times({process(1, 2, 4), process(2, 4, 8), process(4, 8, 16)});
  EXPECT_DOUBLE_EQ(parts.forward.value, 2);
  EXPECT_DOUBLE_EQ(parts.total.value, 8);
  EXPECT_DOUBLE_EQ(parts.backward_data.value, 7. / 3);
  EXPECT_LT(parts.backward_data.low, 0) << "three processes tell little";
  EXPECT_GT(parts.forward.low, 0);
}

TEST(Estimate, OfTwoProcessesIsARange) {
  const PartTimes parts = part_times({process(1, 2, 4), process(4, 6, 7)});
  expect_estimate(parts.forward, 2, 1, 4);
  expect_estimate(parts.backward_weights, 1.5, 1, 2);
}

TEST(Estimate, ASpeedUpOfOneProcessIsThatOfItsMedians) {
  const Samples3 base = {.forward = {4, 4, 4}, .forward_data = {}, .all = {}};
  const Samples3 own = {.forward = {2, 2, 2}, .forward_data = {}, .all = {}};
  expect_estimate(speedup({base}, {own}, &Samples3::forward), 2, 2, 2);
}

TEST(Estimate, ASpeedUpPairsTheProcesses) {
  const std::vector<Samples3> base = {process(2, 2, 2), process(6, 6, 6), process(10, 10, 10)};
  const std::vector<Samples3> own = {process(1, 1, 1), process(3, 3, 3), process(5, 5, 5)};
  expect_estimate(speedup(base, own, &Samples3::all), 2, 2, 2);
  EXPECT_THROW(speedup(base, {own[0]}, &Samples3::all), InvariantError);
}

}  // namespace
}  // namespace rnnlab
