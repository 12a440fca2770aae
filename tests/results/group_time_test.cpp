#include "results/group_time.h"

#include <gtest/gtest.h>

#include "results/geometric_mean.h"
#include "results/sample_records.h"

namespace rnnlab::testing {
namespace {

// Rounds in which the machine was as slow as `slowness` says.
std::vector<RunRecord> rounds(const std::string& side, double seconds, const std::vector<double>& slowness) {
  std::vector<RunRecord> runs;
  for (size_t i = 0; i < slowness.size(); ++i)
    runs.push_back(sample_record(side, static_cast<int64_t>(i) + 1, {seconds * slowness[i]}));
  return runs;
}

GroupResult measured(const std::vector<RunRecord>& runs) {
  GroupResult result;
  measure_time(result, group_of(runs));
  return result;
}

GroupResult compared(const std::vector<RunRecord>& runs, const std::vector<RunRecord>& baseline) {
  GroupResult result = measured(runs);
  set_against(result, group_of(runs), group_of(baseline));
  return result;
}

const std::vector<double> kFive = {1, 1.1, 1.02, 0.97, 1.05};
const std::vector<double> kOtherFive = {1.01, 1.08, 1.03, 0.98, 1.04};

TEST(GroupTime, OfOneProcessIsItsMedianAndTheSpread) {
  const GroupResult result = measured({process_record("p", {3, 1, 2, 8})});
  EXPECT_EQ(result.num_processes, 1);
  EXPECT_EQ(result.num_timed_epochs, 4);
  EXPECT_EQ(result.seconds, 2.5);
  EXPECT_EQ(result.low_seconds, 1);
  EXPECT_EQ(result.high_seconds, 8);
  EXPECT_TRUE(result.bounds_are_spread);
}

TEST(GroupTime, OfThreeProcessesIsAMeanWithItsInterval) {
  const GroupResult result = measured(rounds("a", 2, {1, 1.1, 1.2}));
  const MeanEstimate expected = geometric_mean_estimate(std::vector<double>{2, 2.2, 2.4});
  EXPECT_DOUBLE_EQ(*result.seconds, expected.value);
  EXPECT_DOUBLE_EQ(*result.low_seconds, expected.bounds.low);
  EXPECT_DOUBLE_EQ(*result.high_seconds, expected.bounds.high);
  EXPECT_FALSE(result.bounds_are_spread);
}

TEST(GroupTime, OfWarmUpAloneIsNone) {
  std::vector<RunRecord> runs = rounds("a", 2, {1});
  runs[0].rows[0].warmup = true;
  EXPECT_FALSE(measured(runs).seconds);
  EXPECT_FALSE(compared(runs, rounds("b", 1, {1})).ratio);
}

TEST(GroupTime, ShownRatiosAreQuotientsOfShownTimes) {
  const GroupResult fast = compared(rounds("a", 1, kFive), rounds("b", 2, kOtherFive));
  EXPECT_DOUBLE_EQ(*fast.ratio, *fast.seconds / *measured(rounds("b", 2, kOtherFive)).seconds);
}

TEST(GroupTime, PairsRounds) {
  const GroupResult fast = compared(rounds("a", 1, kFive), rounds("b", 2, kFive));
  EXPECT_TRUE(fast.is_paired);
  EXPECT_NEAR(*fast.ratio_low, 0.5, 1e-12);
  EXPECT_NEAR(*fast.ratio_high, 0.5, 1e-12);
}

TEST(GroupTime, DoesNotPairWhatWasMeasuredApart) {
  std::vector<RunRecord> apart = rounds("b", 2, kFive);
  for (RunRecord& run : apart) run.summary.turn.measurement = "another";
  const GroupResult fast = compared(rounds("a", 1, kFive), apart);
  EXPECT_FALSE(fast.is_paired);
  EXPECT_LT(*fast.ratio_low, 0.48);
  EXPECT_EQ(fast.verdict, TimeVerdict::kFaster);
}

TEST(GroupTime, HasAVerdictFromFiveProcessesASide) {
  const auto baseline = rounds("b", 2, kFive);
  EXPECT_EQ(compared(rounds("a", 1, kOtherFive), baseline).verdict, TimeVerdict::kFaster);
  EXPECT_EQ(compared(rounds("a", 3, kOtherFive), baseline).verdict, TimeVerdict::kSlower);
  EXPECT_EQ(compared(rounds("a", 2, kOtherFive), baseline).verdict, TimeVerdict::kNoDifference);
}

TEST(GroupTime, HasAnIntervalWithoutAVerdictFromThree) {
  const GroupResult result = compared(rounds("a", 1, {1, 1.01, 1.02}), rounds("b", 2, {1.01, 1, 1.02, 1}));
  EXPECT_LT(*result.ratio_high, 1);
  EXPECT_DOUBLE_EQ(*result.mann_whitney_p, 2.0 / 35);
  EXPECT_EQ(result.verdict, TimeVerdict::kNone);
}

TEST(GroupTime, OfTwoProcessesHasNoMoreThanARatio) {
  const GroupResult result = compared(rounds("a", 1, {1, 1}), rounds("b", 2, kFive));
  EXPECT_TRUE(result.ratio);
  EXPECT_FALSE(result.ratio_low);
  EXPECT_FALSE(result.ratio_high);
  EXPECT_FALSE(result.mann_whitney_p);
  EXPECT_EQ(result.verdict, TimeVerdict::kNone);
}

// Epochs of one process are not a second measurement, however many they are.
TEST(GroupTime, FiftyEpochsOfOneProcessAreOneProcess) {
  const std::vector<RunRecord> naive = {process_record("p", std::vector<double>(50, 2))};
  const std::vector<RunRecord> fused = {process_record("p", std::vector<double>(50, 1))};
  const GroupResult result = compared(fused, naive);
  EXPECT_EQ(result.ratio, 0.5);
  EXPECT_FALSE(result.ratio_low);
  EXPECT_EQ(result.verdict, TimeVerdict::kNone);
}

}  // namespace
}  // namespace rnnlab::testing
