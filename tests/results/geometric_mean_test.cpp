#include "results/geometric_mean.h"

#include <gtest/gtest.h>

#include <vector>

namespace rnnlab {
namespace {

using Samples = std::vector<double>;

const Samples kSlow = {2.01, 2.05, 1.98, 2.11, 2.3};
const Samples kFast = {1.01, 1.03, 0.99, 1.2, 1.05};

void expect_near(const MeanEstimate& estimate, double value, double low, double high) {
  EXPECT_NEAR(estimate.value, value, 1e-12);
  EXPECT_NEAR(estimate.bounds.low, low, 1e-9);
  EXPECT_NEAR(estimate.bounds.high, high, 1e-9);
}

// The golden values come from SciPy 1.17, ttest_1samp and ttest_ind(equal_var=False) of the logarithms.

TEST(GeometricMean, HasTheIntervalOfTheMeanLogarithm) {
  expect_near(geometric_mean_estimate(kSlow), 2.087012643032331, 1.938857325583387, 2.2464890606977614);
}

TEST(GeometricMean, OfOneSampleIsTheSample) { EXPECT_EQ(geometric_mean(Samples{1.1}), 1.1); }

TEST(PairedRatio, ComparesRoundByRound) {
  expect_near(paired_ratio(kSlow, kFast), 1.9810352912604698, 1.7977460846004985, 2.1830117494549133);
}

TEST(PairedRatio, IsThatOfTheMeans) {
  EXPECT_NEAR(paired_ratio(kSlow, kFast).value, geometric_mean(kSlow) / geometric_mean(kFast), 1e-15);
}

TEST(PairedRatio, SeesThroughWhatSlowsDownBothSides) {
  const MeanEstimate ratio = paired_ratio(Samples{2, 4, 8}, Samples{1, 2, 4});
  expect_near(ratio, 2, 2, 2);
  EXPECT_GT(unpaired_ratio(Samples{2, 4, 8}, Samples{1, 2, 4}).bounds.high, 4);
}

TEST(PairedRatio, TurnedOverHasTheIntervalTurnedOver) {
  const MeanEstimate ratio = paired_ratio(kSlow, kFast), inverse = paired_ratio(kFast, kSlow);
  EXPECT_NEAR(inverse.bounds.low, 1 / ratio.bounds.high, 1e-12);
  EXPECT_NEAR(inverse.bounds.high, 1 / ratio.bounds.low, 1e-12);
}

TEST(UnpairedRatio, IsWelchs) {
  const Samples three = {kFast[0], kFast[1], kFast[2]};
  expect_near(unpaired_ratio(kSlow, three), 2.0666193066634335, 1.9208531710570302, 2.2234470718674455);
}

TEST(UnpairedRatio, OfEqualSamplesHasNoWidth) { expect_near(unpaired_ratio(Samples{2, 2}, Samples{1, 1}), 2, 2, 2); }

}  // namespace
}  // namespace rnnlab
