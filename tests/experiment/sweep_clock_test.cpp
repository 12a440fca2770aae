// SPDX-License-Identifier: Apache-2.0
#include "experiment/sweep_clock.h"

#include <gtest/gtest.h>

#include <vector>

namespace rnnlab {
namespace {

TEST(SweepClock, KnowsNothingBeforeTheFirstRun) { EXPECT_EQ(SweepClock().text(std::vector<int64_t>{1, 2}), ""); }

TEST(SweepClock, SaysThatTheFirstRunIsTheOnlyMeasure) {
  SweepClock clock;
  clock.record(1, 60);
  EXPECT_EQ(clock.text(std::vector<int64_t>{2, 3, 4}),
            "1 min 0 s so far, about 3 min 0 s left if each run takes as long as the first");
}

TEST(SweepClock, GivesARangeWhereRunsTakeUnequalTimes) {
  SweepClock clock;
  clock.record(1, 60);
  clock.record(2, 20);
  EXPECT_EQ(clock.text(std::vector<int64_t>{3}), "1 min 20 s so far, 20 s to 1 min 0 s left");
}

TEST(SweepClock, KnowsTheCasesThatHaveRunBefore) {
  SweepClock clock;
  clock.record(1, 60);
  clock.record(2, 20);
  clock.record(2, 22);
  EXPECT_EQ(clock.text(std::vector<int64_t>{1, 2, 2}), "1 min 42 s so far, about 1 min 42 s left");
  EXPECT_EQ(SweepClock(clock).text(std::vector<int64_t>{}), "1 min 42 s so far, about 0 s left");
}

}  // namespace
}  // namespace rnnlab
