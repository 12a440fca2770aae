// SPDX-License-Identifier: Apache-2.0
#include "data/inspect_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rnnlab {
namespace {

constexpr int64_t kHour = int64_t{3600} * 1'000'000;

template <class Value>
SeriesValues hours(int count, Value value) {
  SeriesValues series;
  for (int i = 0; i < count; ++i) {
    series.times.push_back(i * kHour);
    series.values.push_back(value(i));
  }
  return series;
}

TEST(SeriesAdvice, FindsTheSeasonThatTheStepSuggests) {
  const SeriesAdvice days = advise_on_series({hours(480, [](int i) { return (i % 24) * (i % 24) % 19; })});
  EXPECT_EQ(step_text(days.step.value()), "1h");
  EXPECT_EQ(days.season, 24);
  EXPECT_EQ(days.error_of_season, 0);
  EXPECT_TRUE(days.is_season_strong());
  EXPECT_FALSE(days.is_last_strong());
}

TEST(SeriesAdvice, FindsALastValueThatIsStrong) {
  const SeriesAdvice slow = advise_on_series({hours(500, [](int i) { return i * .1 + std::sin(i); })});
  EXPECT_TRUE(slow.is_last_strong());
  EXPECT_FALSE(slow.is_season_strong());
}

TEST(SeriesAdvice, SaysNothingOfNoise) {
  const SeriesAdvice noise = advise_on_series({hours(500, [](int i) { return i * 7919 % 101; })});
  EXPECT_FALSE(noise.season);
  EXPECT_FALSE(noise.is_last_strong());
  EXPECT_EQ(noise.difference, SeriesDifference::kNone);
}

TEST(SeriesAdvice, FindsSeriesOfDifferentScales) {
  const auto small = hours(60, [](int i) { return i * 7919 % 101; });
  EXPECT_EQ(advise_on_series({small, hours(60, [](int i) { return i * 7919 % 101 * 50; })}).difference,
            SeriesDifference::kScale);
  EXPECT_EQ(advise_on_series({small, hours(60, [](int i) { return i * 7919 % 101 * 5; })}).difference,
            SeriesDifference::kNone);
  EXPECT_EQ(advise_on_series({small, hours(60, [](int i) { return 1000 + i * 7919 % 101; })}).difference,
            SeriesDifference::kLevel);
}

TEST(SeriesAdvice, LeavesMissingValuesOut) {
  const auto value = [](int i) { return i % 5 == 0 ? std::numeric_limits<double>::quiet_NaN() : i % 24; };
  EXPECT_EQ(advise_on_series({hours(480, value)}).error_of_season, 0);
}

TEST(SeriesAdvice, HasNoStepWhereTimesAreOffTheGrid) {
  SeriesValues series = hours(50, [](int i) { return i; });
  series.times.back() += kHour / 2;
  EXPECT_FALSE(advise_on_series({series}).step);
  EXPECT_FALSE(advise_on_series({hours(50, [](int i) { return i; }), series}).step);
}

}  // namespace
}  // namespace rnnlab
