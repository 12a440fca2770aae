// SPDX-License-Identifier: Apache-2.0
#include "base/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

namespace rnnlab {
namespace {

using Samples = std::vector<double>;

// The golden values come from NumPy 2 and SciPy 1 (numpy.quantile, scipy.stats.binom, mannwhitneyu, bootstrap).

TEST(Quantile, InterpolatesAsNumPyDoes) {
  const Samples samples = {3.1, 0.2, 5.5, 4.0, 2.7, 9.9};
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 0.2);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.1), 1.45);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.25), 2.8);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.9), 7.7);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 9.9);
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_DOUBLE_EQ(median({3.1, 0.2, 5.5, 4.0, 2.7, 9.9}), 3.55);
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({7}), 7);
}

struct OrderStatistics {
  size_t n;
  double low, high;  // ranks from 1
  double coverage;
};

class MedianIntervalRanks : public ::testing::TestWithParam<OrderStatistics> {};

TEST_P(MedianIntervalRanks, AreThoseOfTheBinomial) {
  const OrderStatistics expected = GetParam();
  Samples ranks(expected.n);
  std::iota(ranks.begin(), ranks.end(), 1);
  std::ranges::reverse(ranks);
  const MedianInterval interval = median_interval(ranks);
  EXPECT_EQ(interval.bounds.low, expected.low);
  EXPECT_EQ(interval.bounds.high, expected.high);
  EXPECT_NEAR(interval.coverage, expected.coverage, 1e-12);
  EXPECT_EQ(interval.is_full_range, expected.n < 6);
}

INSTANTIATE_TEST_SUITE_P(
    Scipy, MedianIntervalRanks,
    ::testing::Values(OrderStatistics{1, 1, 1, 0}, OrderStatistics{2, 1, 2, 0.5}, OrderStatistics{3, 1, 3, 0.75},
                      OrderStatistics{5, 1, 5, 0.9375}, OrderStatistics{6, 1, 6, 0.96875},
                      OrderStatistics{7, 1, 7, 0.984375}, OrderStatistics{10, 2, 9, 0.978515625},
                      OrderStatistics{15, 4, 12, 0.96484375}, OrderStatistics{20, 6, 15, 0.9586105346679688},
                      OrderStatistics{50, 18, 33, 0.9671608624357315}, OrderStatistics{150, 63, 88, 0.959131506133506},
                      OrderStatistics{1000, 469, 532, 0.9537088026395019}));

TEST(MannWhitney, IsExactForFewSamples) {
  const MannWhitney apart = mann_whitney(Samples{1.1, 2.2, 3.3}, Samples{4.4, 5.5, 6.6});
  EXPECT_TRUE(apart.is_exact);
  EXPECT_EQ(apart.u, 0);
  EXPECT_DOUBLE_EQ(apart.p_value, 0.1);
  const MannWhitney mixed = mann_whitney(Samples{1.2, 3.4, 2.2, 5.1, 0.4}, Samples{2.5, 6.7, 4.4, 8.8, 7.1, 3.0});
  EXPECT_EQ(mixed.u, 5);
  EXPECT_NEAR(mixed.p_value, 0.08225108225108226, 1e-15);
}

// By going through all ways to choose the first sample from both.
TEST(MannWhitney, IsExactWithTies) {
  const MannWhitney tied = mann_whitney(Samples{1, 2, 2, 3, 5}, Samples{2, 4, 4, 6, 7});
  EXPECT_TRUE(tied.is_exact);
  EXPECT_EQ(tied.u, 5);
  EXPECT_DOUBLE_EQ(tied.p_value, 36.0 / 252);
  EXPECT_DOUBLE_EQ(mann_whitney(Samples{1, 1, 2, 2}, Samples{1, 2, 2, 3, 3, 3}).p_value, 50.0 / 210);
  EXPECT_DOUBLE_EQ(mann_whitney(Samples{1, 1, 1, 1, 1}, Samples{2, 2, 2, 2, 2}).p_value, 2.0 / 252);
  EXPECT_EQ(mann_whitney(Samples{3, 3, 3}, Samples{3, 3, 3}).p_value, 1);
}

TEST(MannWhitney, IsExactForDozensOfSamples) {
  Samples first, second;
  for (int i = 0; i < 30; ++i) first.push_back(1 + 0.013 * ((7 * i) % 31) + 1e-7 * i);
  for (int i = 0; i < 25; ++i) second.push_back(1.05 + 0.011 * ((11 * i) % 37) + 1e-6 * i);
  const MannWhitney result = mann_whitney(first, second);
  EXPECT_TRUE(result.is_exact);
  EXPECT_EQ(result.u, 276);
  EXPECT_NEAR(result.p_value, 0.09613879146842587, 1e-12);
}

TEST(MannWhitney, ApproximatesForManySamples) {
  Samples first, second;
  for (int i = 0; i < 60; ++i) first.push_back(1 + 0.013 * ((7 * i) % 61) + 0.001);
  for (int i = 0; i < 50; ++i) second.push_back(1.05 + 0.011 * ((11 * i) % 57));
  const MannWhitney result = mann_whitney(first, second);
  EXPECT_FALSE(result.is_exact);
  EXPECT_EQ(result.u, 1608.5);
  EXPECT_NEAR(result.p_value, 0.5167743120771235, 1e-12);
}

TEST(MannWhitney, DoesNotDependOnTheSide) {
  const Samples first = {1, 5, 9, 13}, second = {2, 3, 4, 20, 21};
  EXPECT_DOUBLE_EQ(mann_whitney(first, second).p_value, mann_whitney(second, first).p_value);
}

const Samples kSlow = {2.01, 2.05, 1.98, 2.11, 2.02, 2.07, 1.99, 2.03, 2.10, 2.00};
const Samples kFast = {1.01, 1.03, 0.99, 1.02, 1.05, 1.00, 0.98, 1.04, 1.06, 1.01};

TEST(MedianRatio, AgreesWithScipysBootstrap) {
  const MedianRatio ratio = median_ratio(kSlow, kFast);
  EXPECT_DOUBLE_EQ(ratio.ratio, 1.9950738916256154);
  EXPECT_NEAR(ratio.bounds.low, 1.9375, 0.003);
  EXPECT_NEAR(ratio.bounds.high, 2.0508, 0.003);
}

TEST(MedianRatio, IsTheSameEveryTime) {
  const MedianRatio first = median_ratio(kSlow, kFast), second = median_ratio(kSlow, kFast);
  EXPECT_EQ(first.bounds.low, second.bounds.low);
  EXPECT_EQ(first.bounds.high, second.bounds.high);
}

TEST(MedianRatio, OfSingleSamplesHasNoWidth) {
  const MedianRatio ratio = median_ratio({3}, {2});
  EXPECT_EQ(ratio.ratio, 1.5);
  EXPECT_EQ(ratio.bounds.low, 1.5);
  EXPECT_EQ(ratio.bounds.high, 1.5);
}

TEST(MedianInterval, CoversTheTrueMedianAsOftenAsItClaims) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> times(1);
  constexpr int kTrials = 4000;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Samples samples(15);
    for (double& sample : samples) sample = times(random);
    const Interval bounds = median_interval(samples).bounds;
    covered += bounds.low <= std::numbers::ln2 && std::numbers::ln2 <= bounds.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kTrials, 0.96484375, 0.01);
}

}  // namespace
namespace {

using Samples = std::vector<double>;

const Samples kFiveSlow = {2.01, 2.05, 1.98, 2.11, 2.3};
const Samples kFiveFast = {1.01, 1.03, 0.99, 1.2, 1.05};

void expect_near(const MeanEstimate& estimate, double value, double low, double high) {
  EXPECT_NEAR(estimate.value, value, 1e-12);
  EXPECT_NEAR(estimate.bounds.low, low, 1e-9);
  EXPECT_NEAR(estimate.bounds.high, high, 1e-9);
}

// The golden values come from SciPy 1.17, ttest_1samp and ttest_ind(equal_var=False) of the logarithms.

TEST(GeometricMean, HasTheIntervalOfTheMeanLogarithm) {
  expect_near(geometric_mean_estimate(kFiveSlow), 2.087012643032331, 1.938857325583387, 2.2464890606977614);
}

TEST(GeometricMean, OfOneSampleIsTheSample) { EXPECT_EQ(geometric_mean(Samples{1.1}), 1.1); }

TEST(PairedRatio, ComparesRoundByRound) {
  expect_near(paired_ratio(kFiveSlow, kFiveFast), 1.9810352912604698, 1.7977460846004985, 2.1830117494549133);
}

TEST(PairedRatio, IsThatOfTheMeans) {
  EXPECT_NEAR(paired_ratio(kFiveSlow, kFiveFast).value, geometric_mean(kFiveSlow) / geometric_mean(kFiveFast), 1e-15);
}

TEST(PairedRatio, SeesThroughWhatSlowsDownBothSides) {
  const MeanEstimate ratio = paired_ratio(Samples{2, 4, 8}, Samples{1, 2, 4});
  expect_near(ratio, 2, 2, 2);
  EXPECT_GT(unpaired_ratio(Samples{2, 4, 8}, Samples{1, 2, 4}).bounds.high, 4);
}

TEST(PairedRatio, TurnedOverHasTheIntervalTurnedOver) {
  const MeanEstimate ratio = paired_ratio(kFiveSlow, kFiveFast), inverse = paired_ratio(kFiveFast, kFiveSlow);
  EXPECT_NEAR(inverse.bounds.low, 1 / ratio.bounds.high, 1e-12);
  EXPECT_NEAR(inverse.bounds.high, 1 / ratio.bounds.low, 1e-12);
}

TEST(UnpairedRatio, IsWelchs) {
  const Samples three = {kFiveFast[0], kFiveFast[1], kFiveFast[2]};
  expect_near(unpaired_ratio(kFiveSlow, three), 2.0666193066634335, 1.9208531710570302, 2.2234470718674455);
}

TEST(UnpairedRatio, OfEqualSamplesHasNoWidth) { expect_near(unpaired_ratio(Samples{2, 2}, Samples{1, 1}), 2, 2, 2); }

}  // namespace
namespace {

struct Quantile {
  double q, degrees_of_freedom, expected;
};

class StudentT : public ::testing::TestWithParam<Quantile> {};

TEST_P(StudentT, HasSciPysQuantiles) {
  const Quantile golden = GetParam();
  EXPECT_NEAR(student_t_quantile(golden.q, golden.degrees_of_freedom), golden.expected,
              1e-8 * std::abs(golden.expected) + 1e-12);
}

// scipy.stats.t.ppf(q, degrees_of_freedom), SciPy 1.17.
INSTANTIATE_TEST_SUITE_P(
    SciPy, StudentT,
    ::testing::Values(Quantile{0.975, 1, 12.706204736174694}, Quantile{0.975, 2, 4.302652729749462},
                      Quantile{0.975, 2.5, 3.5746548420036817}, Quantile{0.975, 3.7, 2.8675207071911895},
                      Quantile{0.975, 4, 2.7764451051977934}, Quantile{0.975, 9, 2.262157162798205},
                      Quantile{0.975, 17.3, 2.1070320037534676}, Quantile{0.975, 100, 1.9839715185235518},
                      Quantile{0.975, 1e6, 1.959966356814107}, Quantile{0.95, 3, 2.3533634348018233},
                      Quantile{0.995, 2, 9.924843200918287}, Quantile{0.6, 5, 0.2671808657041451},
                      Quantile{0.025, 4, -2.7764451051977943}, Quantile{0.9999, 6.5, 7.486928276387916},
                      Quantile{0.5001, 3, 0.00027206990911051864}, Quantile{0.5, 3, 0}));

}  // namespace
}  // namespace rnnlab
