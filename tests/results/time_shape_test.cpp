// SPDX-License-Identifier: Apache-2.0
#include "results/time_shape.h"
#include "golden.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "results/sample_runs.h"

namespace rnnlab {
namespace {

using Seconds = std::vector<double>;
using ::testing::Optional;

TEST(EqualTimes, TakeThreeOfThem) {
  EXPECT_TRUE(are_all_equal(Seconds{0.1, 0.1, 0.1}));
  EXPECT_FALSE(are_all_equal(Seconds{0.1, 0.1}));
  EXPECT_FALSE(are_all_equal(Seconds{0.1, 0.1, 0.10000001}));
}

TEST(AColdFirst, LiesFarAboveAllOthers) {
  EXPECT_TRUE(is_first_cold(Seconds{10, 1, 1.1, 1.05}));
  EXPECT_TRUE(is_first_cold(Seconds{2, 1, 1.1, 1.05}));
  EXPECT_FALSE(is_first_cold(Seconds{1.7, 1, 1.1, 1.05})) << "less than 1.75 times the others' median";
  EXPECT_FALSE(is_first_cold(Seconds{2, 1, 1.6, 1.05})) << "the others vary as much";
  EXPECT_FALSE(is_first_cold(Seconds{1, 1.1, 10, 1.05})) << "not the first";
  EXPECT_FALSE(is_first_cold(Seconds{10, 1, 1.1})) << "too few";
}

TEST(AnOutlier, IsFarFromTheMedian) {
  EXPECT_THAT(find_outlier(Seconds{1, 1.1, 100, 1.05, 1.02}), Optional(2U));
  EXPECT_THAT(find_outlier(Seconds{1, 1.1, 0.01, 1.05, 1.02}), Optional(2U)) << "too short is as strange";
  EXPECT_EQ(find_outlier(Seconds{1, 1.1, 1.9, 1.05, 1.02}), std::nullopt) << "less than twice the median";
  EXPECT_EQ(find_outlier(Seconds{1, 1.5, 3, 1.2, 1.8}), std::nullopt) << "the others vary, too";
  EXPECT_EQ(find_outlier(Seconds{1, 1.1, 100, 1.05}), std::nullopt) << "too few";
}

TEST(ATrend, IsTheLastOverTheFirst) {
  const double last = std::pow(1.2, 7);
  Seconds seconds = {1};
  while (seconds.size() < 8) seconds.push_back(1.2 * seconds.back());
  EXPECT_NEAR(find_trend(seconds).value(), last, 1e-9);
  std::ranges::reverse(seconds);
  EXPECT_NEAR(find_trend(seconds).value(), 1 / last, 1e-9);
}

TEST(ATrend, IsNotSeenInFewOrLittle) {
  EXPECT_EQ(find_trend(Seconds{1, 2, 3, 4, 5, 6}), std::nullopt) << "by chance in one of 360 runs";
  EXPECT_EQ(find_trend(Seconds{1, 1.005, 1.01, 1.015, 1.02, 1.025, 1.03, 1.035}), std::nullopt) << "4 %";
  EXPECT_EQ(find_trend(Seconds{1, 1.1, 1.05, 1.2, 1.15, 1.1, 1.3, 1.2}), std::nullopt);
}

TEST(ATrend, OfManyTakesTheNormalApproximation) {
  Seconds seconds(200);
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] = 1 + 0.001 * static_cast<double>(i);
  EXPECT_NEAR(find_trend(seconds).value(), 1.2, 0.01);
}

TEST(TwoModes, HaveNothingBetween) {
  const auto modes = find_two_modes(Seconds{3.0, 3.1, 2.9, 3.05, 1.0, 1.05, 0.95});
  ASSERT_TRUE(modes);
  EXPECT_EQ(modes->num_short, 3U);
  EXPECT_EQ(modes->num_long, 4U);
  EXPECT_NEAR(modes->short_seconds, 1.0, 1e-9);
  EXPECT_NEAR(modes->long_seconds, std::sqrt(3.0 * 3.05), 1e-9);
}

TEST(TwoModes, TakeThreeOfEachAndAGap) {
  EXPECT_FALSE(find_two_modes(Seconds{3, 3.1, 1, 1.05, 0.95, 1.02})) << "two of them";
  EXPECT_FALSE(find_two_modes(Seconds{1.09, 1.091, 1.092, 1, 1.001, 1.002})) << "9 % apart";
  EXPECT_FALSE(find_two_modes(Seconds{3, 3.5, 4, 1, 1.5, 2})) << "each kind is as wide as the gap";
}

// ---- times that nobody has changed ----

enum class Noise { kLognormal, kExponentialTail, kAutocorrelated };

class HonestTimes {
 public:
  explicit HonestTimes(uint64_t seed) : random_(seed) {}

  Seconds draw(Noise noise, double spread, size_t count) {
    Seconds seconds(count);
    double deviation = normal_(random_);
    for (double& each : seconds) {
      if (noise == Noise::kExponentialTail) {
        each = 1 + spread * exponential_(random_);
        continue;
      }
      each = std::exp(spread * deviation);
      const double kept = noise == Noise::kAutocorrelated ? 0.7 : 0;
      deviation = kept * deviation + std::sqrt(1 - kept * kept) * normal_(random_);
    }
    return seconds;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::exponential_distribution<double> exponential_;
};

struct Alarms {
  int cold = 0, outlier = 0, trend = 0, modes = 0, any = 0;

  void count(const Seconds& seconds) {
    const bool found[] = {is_first_cold(seconds), find_outlier(seconds).has_value(), find_trend(seconds).has_value(),
                          find_two_modes(seconds).has_value()};
    cold += found[0];
    outlier += found[1];
    trend += found[2];
    modes += found[3];
    any += found[0] || found[1] || found[2] || found[3] || are_all_equal(seconds);
  }
};

bool is_long() { return std::getenv("RNNLAB_LONG_RUN") != nullptr; }

Alarms alarms_of(Noise noise, double spread, size_t count, int trials) {
  HonestTimes times(1);
  Alarms alarms;
  for (int trial = 0; trial < trials; ++trial) alarms.count(times.draw(noise, spread, count));
  return alarms;
}

// Returns the largest percentage over all spreads and numbers of epochs. The long form prints all percentages.
double most_alarms(Noise noise, const char* name) {
  const int trials = is_long() ? 100000 : 3000;
  const auto percent = [&](int number) { return 100.0 * number / trials; };
  double most = 0;
  for (const double spread : {0.02, 0.05, 0.1, 0.3})
    for (const size_t count : {3, 4, 5, 6, 7, 8, 10, 20, 50}) {
      const Alarms alarms = alarms_of(noise, spread, count, trials);
      most = std::max(most, percent(alarms.any));
      if (is_long())
        fmt::print("{}, spread {}, {} epochs: {:.2f} % (cold {:.2f}, outlier {:.2f}, trend {:.2f}, two modes {:.2f})\n",
                   name, spread, count, percent(alarms.any), percent(alarms.cold), percent(alarms.outlier),
                   percent(alarms.trend), percent(alarms.modes));
    }
  return most;
}

TEST(ShapeProof, HonestTimesRarelyAlarm) {
  EXPECT_LT(most_alarms(Noise::kLognormal, "lognormal"), 1);
  EXPECT_LT(most_alarms(Noise::kAutocorrelated, "autocorrelation 0.7"), 5);
  EXPECT_LT(most_alarms(Noise::kExponentialTail, "floor and exponential tail"), 2);
}

}  // namespace
}  // namespace rnnlab

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Warning> warnings_about(const std::vector<double>& seconds) { return shape_warnings(sample_rows(seconds)); }

TEST(ShapeWarnings, SayNothingOfAnHonestRun) {
  EXPECT_THAT(warnings_about({1.0, 1.1, 1.05, 0.98, 1.2, 1.02}), IsEmpty());
  EXPECT_THAT(warnings_about({}), IsEmpty());
}

TEST(ShapeWarnings, LeaveOutWarmUp) {
  std::vector<EpochRow> rows = sample_rows({10, 1.0, 1.1, 1.05, 0.98, 1.2});
  EXPECT_EQ(shape_warnings(rows).at(0).kind, warning::kColdEpoch);
  rows[0].warmup = true;
  EXPECT_THAT(shape_warnings(rows), IsEmpty());
}

// The median does not show any of these.
TEST(ShapeWarnings, NameEachShapeOnce) {
  struct Shape {
    const char* kind;
    Seconds seconds;
  };
  std::vector<Warning> all;
  for (const auto& [kind, seconds] :
       {Shape{warning::kOutlier, {1.0, 1.1, 1.02, 100, 1.05, 0.98, 1.01, 1.03}},
        Shape{warning::kTrend, {1.0, 1.2, 1.44, 1.728, 2.0736, 2.48832, 2.985984, 3.5831808}},
        Shape{warning::kTwoModes, {3, 3.1, 2.9, 3.05, 3.02, 1, 1.05, 0.95, 1.02, 1.01}},
        Shape{warning::kColdEpoch, {10.0, 1.1, 1.02, 1.0, 1.05, 0.98, 1.01, 1.03}},
        Shape{warning::kEqualTimes, {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}}}) {
    const std::vector<Warning> found = warnings_about(seconds);
    ASSERT_THAT(found, ElementsAre(::testing::Field(&Warning::kind, kind)));
    all.push_back(found[0]);
  }
  expect_golden(all);
}

TEST(ShapeWarnings, AreAlsoForProcesses) {
  std::vector<RunRecord> runs;
  for (int64_t round = 1; round <= 8; ++round) {
    const double seconds = 1 + 0.1 * static_cast<double>(round);
    runs.push_back(sample_record("a", round, {seconds, 1.01 * seconds, seconds}));
  }
  expect_golden(texts_of(shape_warnings(group_of(runs))));
}

TEST(ShapeWarnings, ProcessesMayHaveEqualMedians) {
  const std::vector<RunRecord> runs(3, sample_record("a", 1, {1}));
  EXPECT_THAT(shape_warnings(group_of(runs)), IsEmpty());
}

}  // namespace
}  // namespace rnnlab::testing
