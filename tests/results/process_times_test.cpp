// SPDX-License-Identifier: Apache-2.0
#include "results/process_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;

TEST(ProcessTimes, AreTheMediansOfEachProcessesEpochs) {
  const std::vector<RunRecord> runs = {sample_record("a", 1, {1, 2, 9}), sample_record("a", 2, {3, 5})};
  const std::vector<ProcessTime> times = process_times(group_of(runs));
  EXPECT_THAT(seconds_of(times), ElementsAre(2, 4));
  EXPECT_EQ(times[1].measurement, "m");
  EXPECT_EQ(times[1].round, 2);
}

TEST(ProcessTimes, PutRunsOfOneProcessTogether) {
  std::vector<RunRecord> runs = {process_record("p", {1, 2}), process_record("p", {5, 6, 7})};
  runs[1].summary.seed = 2;
  const std::vector<ProcessTime> times = process_times(group_of(runs));
  EXPECT_THAT(seconds_of(times), ElementsAre(5));
  EXPECT_THAT(times[0].seeds, ElementsAre(0, 2));
}

TEST(ProcessTimes, OfRunsThatDoNotNameTheirProcessAreOne) {
  const std::vector<RunRecord> runs = {sample_record(Turn{}, {1}), sample_record(Turn{}, {3})};
  EXPECT_THAT(seconds_of(process_times(group_of(runs))), ElementsAre(2));
}

TEST(ProcessTimes, LeaveOutAProcessThatOnlyWarmedUp) {
  std::vector<RunRecord> runs = {sample_record("a", 1, {1}), sample_record("a", 2, {2})};
  runs[0].rows[0].warmup = true;
  EXPECT_THAT(seconds_of(process_times(group_of(runs))), ElementsAre(2));
}

std::vector<ProcessTime> times_of(const std::vector<RunRecord>& runs) { return process_times(group_of(runs)); }

TEST(PairedByRound, FindsThePartnersInAnyOrder) {
  const auto pairs = paired_by_round(times_of({sample_record("a", 1, {1}), sample_record("a", 2, {2})}),
                                     times_of({sample_record("b", 2, {20}), sample_record("b", 1, {10})}));
  EXPECT_THAT(pairs->first, ElementsAre(1, 2));
  EXPECT_THAT(pairs->second, ElementsAre(10, 20));
}

TEST(PairedByRound, DistinguishesSeeds) {
  std::vector<RunRecord> a = {sample_record("a", 1, {1}), sample_record("c", 1, {2})};
  std::vector<RunRecord> b = {sample_record("b", 1, {10}), sample_record("d", 1, {20})};
  a[0].summary.seed = b[1].summary.seed = 7;
  const auto pairs = paired_by_round(times_of(a), times_of(b));
  EXPECT_THAT(pairs->first, ElementsAre(2, 1));
  EXPECT_THAT(pairs->second, ElementsAre(10, 20));
}

TEST(PairedByRound, IsNothingWithoutRounds) {
  const auto once = times_of({sample_record("a", 0, {1}), sample_record("a", 1, {2})});
  EXPECT_EQ(paired_by_round(once, once), std::nullopt);
}

TEST(PairedByRound, WantsAPartnerForEach) {
  const auto two = times_of({sample_record("a", 1, {1}), sample_record("a", 2, {2})});
  const auto other_rounds = times_of({sample_record("b", 1, {1}), sample_record("b", 3, {2})});
  EXPECT_FALSE(paired_by_round(two, other_rounds));
  EXPECT_FALSE(paired_by_round(two, times_of({sample_record("b", 1, {1})})));
  EXPECT_FALSE(paired_by_round(two, times_of({sample_record("b", 1, {1}), sample_record("c", 1, {2})})));
}

TEST(PairedByRound, DoesNotPairProcessesThatWereStartedForThemselves) {
  const auto alone = [](const char* name) { return times_of({process_record(name, {1})}); };
  EXPECT_FALSE(paired_by_round(alone("a"), alone("b")));
}

TEST(Estimate, OfTwoProcessesIsTheirRange) {
  const Estimate time = geometric_estimate({1, 4}), difference = arithmetic_estimate({-1, 3});
  EXPECT_DOUBLE_EQ(time.value, 2);
  EXPECT_EQ(time.low, 1);
  EXPECT_EQ(time.high, 4);
  EXPECT_DOUBLE_EQ(difference.value, 1);
  EXPECT_EQ(difference.low, -1);
}

TEST(TimeRatio, ObeysItsTolerance) {
  const std::vector<double> before(5, 1.0), now(5, 1.04);
  EXPECT_EQ(time_ratio(now, before).verdict, TimeVerdict::kSlower);
  const Interval within = {0.95, 1.05};
  EXPECT_EQ(time_ratio(now, before, {.equal = within, .alike = within}).verdict, TimeVerdict::kNoDifference);
}

TEST(TimeRatio, NeedsTimesAboveZero) {
  EXPECT_FALSE(time_ratio({1, 0}, {1, 1}).ratio);
  EXPECT_FALSE(time_ratio({}, {1}).ratio);
  EXPECT_DOUBLE_EQ(*time_ratio({2}, {1}).ratio, 2);
}

TEST(Speed, IsTheInverseOfARatio) {
  TimeRatio times;
  times.ratio = 0.5;
  times.ratio_low = 0.25;
  times.ratio_high = 1;
  const Speed speed = speed_of(times);
  EXPECT_EQ(speed.value, 2);
  EXPECT_EQ(speed.low, 1);
  EXPECT_EQ(speed.high, 4);
}

}  // namespace
}  // namespace rnnlab::testing
