// SPDX-License-Identifier: Apache-2.0
#include "training/learning_rate_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rnnlab {
namespace {

using ::testing::HasSubstr;

// Returns the curve of these losses as a search records it.
template <class LossAt>
RateCurve curve_of(const LossAt& loss_at) {
  RateCurve curve;
  for (const double rate : rates_to_try()) {
    curve.add(rate, loss_at(rate));
    if (curve.has_diverged()) break;
  }
  return curve;
}

// Falls from 2 to 1 around the rate 1e-3, and rises from 0.1 on.
double typical_loss(double rate) { return 1 + 1 / (1 + rate / 1e-3) + std::pow(rate / 0.3, 2); }

TEST(RatesToTry, RiseByOneRatio) {
  const auto rates = rates_to_try();
  ASSERT_EQ(rates.size(), 99u);
  EXPECT_DOUBLE_EQ(rates.front(), kLowestRate);
  EXPECT_NEAR(rates.back(), kHighestRate, 1e-12);
  EXPECT_NEAR(rates[14] / rates[0], 10.0, 1e-12);
  EXPECT_NEAR(rates[57] / rates[56], rates[1] / rates[0], 1e-12);
}

TEST(RateCurve, SmoothsWithoutABiasTowardsZero) {
  RateCurve curve;
  curve.add(1e-6, 4.0);
  EXPECT_DOUBLE_EQ(curve.points()[0].smoothed_loss, 4.0);
  curve.add(1e-5, 2.0);
  EXPECT_DOUBLE_EQ(curve.points()[1].smoothed_loss, (0.09 * 4.0 + 0.1 * 2.0) / 0.19);
}

TEST(RateCurve, HasDivergedAboveFourTimesItsLowestLossAndAtNaN) {
  RateCurve curve;
  EXPECT_FALSE(curve.has_diverged());
  curve.add(0.1, 1.0);
  curve.add(0.2, 5.0);
  EXPECT_FALSE(curve.has_diverged()) << "the smoothed loss is about 3.1";
  curve.add(0.4, 20.0);
  EXPECT_TRUE(curve.has_diverged());
  RateCurve of_nan;
  of_nan.add(0.1, 1.0);
  of_nan.add(0.2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(of_nan.has_diverged());
  EXPECT_EQ(of_nan.lowest(), 0u);
}

TEST(SuggestRate, IsATenthOfTheRateWithTheLowestLoss) {
  const RateCurve curve = curve_of(typical_loss);
  EXPECT_TRUE(curve.has_diverged());
  const RateSuggestion suggestion = suggest_rate(curve);
  ASSERT_TRUE(suggestion.learning_rate);
  EXPECT_GT(*suggestion.learning_rate, 0.002);
  EXPECT_LT(*suggestion.learning_rate, 0.03);
  EXPECT_THAT(suggestion.reason, HasSubstr("a tenth of 0."));
}

TEST(SuggestRate, StaysTheSameWithNoise) {
  uint32_t state = 1;
  const auto noise = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) / static_cast<double>(1 << 24) - 0.5;
  };
  const double clean = suggest_rate(curve_of(typical_loss)).learning_rate.value();
  const RateSuggestion noisy = suggest_rate(curve_of([&](double rate) { return typical_loss(rate) + 0.2 * noise(); }));
  ASSERT_TRUE(noisy.learning_rate) << noisy.reason;
  EXPECT_LT(*noisy.learning_rate, 3 * clean);
  EXPECT_GT(*noisy.learning_rate, clean / 3);
}

TEST(SuggestRate, SaysThatTheLossWasStillFalling) {
  const RateSuggestion suggestion = suggest_rate(curve_of([](double rate) { return 1 / (1 + rate); }));
  EXPECT_DOUBLE_EQ(suggestion.learning_rate.value(), 1.0);
  EXPECT_THAT(suggestion.reason, HasSubstr("still falling at the highest rate"));
}

TEST(SuggestRate, SuggestsNothingIfTheLossDoesNotFall) {
  EXPECT_FALSE(suggest_rate(curve_of([](double) { return 1.0; })).learning_rate);
  EXPECT_FALSE(suggest_rate(curve_of([](double rate) { return 1 + rate; })).learning_rate);
  int step = 0;
  const auto varies = [&](double) { return ++step % 2 == 0 ? 1.0 : 2.0; };
  EXPECT_THAT(suggest_rate(curve_of(varies)).reason, HasSubstr("from batch to batch"));
}

TEST(SuggestRate, TakesNoAccidentOfTheFirstBatchesForTheLowestLoss) {
  int step = 0;
  const auto begins_low = [&](double rate) { return ++step == 1 ? 0.5 : typical_loss(rate); };
  const double rate = suggest_rate(curve_of(begins_low)).learning_rate.value_or(0);
  EXPECT_DOUBLE_EQ(rate, suggest_rate(curve_of(typical_loss)).learning_rate.value());
}

TEST(SuggestRate, SuggestsNothingIfTheLowestRatesDiverge) {
  const RateCurve curve = curve_of([](double rate) { return 1 + std::pow(rate / 2e-6, 4); });
  EXPECT_TRUE(curve.has_diverged());
  EXPECT_THAT(suggest_rate(curve).reason, HasSubstr("training diverges"));
}

}  // namespace
}  // namespace rnnlab
