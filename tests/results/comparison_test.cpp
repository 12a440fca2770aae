// SPDX-License-Identifier: Apache-2.0
#include "results/comparison.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/statistics.h"
#include "golden.h"
#include "results/compared_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CompareTest : public ComparedRuns {};

TEST_F(CompareTest, SetsEveryGroupAgainstTheFirst) {
  add_pair();
  const Comparison comparison = compared();
  EXPECT_EQ(comparison.baseline, "cpu naive");
  ASSERT_EQ(comparison.groups.size(), 2u);
  const GroupResult& naive = comparison.groups[0];
  EXPECT_EQ(naive.num_processes, 1);
  EXPECT_EQ(naive.num_timed_epochs, 6);
  EXPECT_DOUBLE_EQ(*naive.seconds, 2.25);
  EXPECT_EQ(naive.low_seconds, 2.0);
  EXPECT_EQ(naive.high_seconds, 2.5);
  EXPECT_FALSE(naive.ratio.has_value());
  EXPECT_FALSE(naive.verdict.has_value());
  const GroupResult& fused = comparison.groups[1];
  EXPECT_EQ(fused.label, "cpu fused");
  EXPECT_NEAR(*fused.ratio, 1.25 / 2.25, 1e-12);
  EXPECT_EQ(fused.verdict, TimeVerdict::kNone);
  EXPECT_DOUBLE_EQ(*fused.microseconds_per_sample, 1.25 * 1e6 / 120000);
  EXPECT_DOUBLE_EQ(*fused.fit_seconds, 16.5 + 7 * 0.125);
  EXPECT_EQ(fused.loss_agreement->largest_difference, 0);
  EXPECT_FALSE(naive.loss_agreement.has_value());
  EXPECT_EQ(fused.final_metrics.at("valid_accuracy").median, 0.875);
  EXPECT_THAT(fused.paths, ElementsAre("oneDNN reference"));
  EXPECT_THAT(comparison.forced, IsEmpty());
  EXPECT_THAT(comparison.warnings, IsEmpty());
  expect_golden(comparison.notes);
}

TEST_F(CompareTest, TakesTheBaselineByLabelOrFolder) {
  add_pair();
  EXPECT_EQ(compare(runs_, {.baseline = "cpu fused"}).baseline, "cpu fused");
  EXPECT_EQ(compare(runs_, {.baseline = folder_.name("b") + "/"}).baseline, "cpu fused");
  expect_error(ExitCode::kUsage, [&] { compare(runs_, {.baseline = "gpu"}); });
}

TEST_F(CompareTest, PoolsSeedsAndSaysSo) {
  for (const int64_t seed : {1, 2, 3}) {
    add("n" + std::to_string(seed), sample_run("cpu", "naive", seed, kSlow));
    add("f" + std::to_string(seed), sample_run("cuda:0", "fused", seed, kFast));
  }
  const Comparison comparison = compared();
  ASSERT_EQ(comparison.groups.size(), 2u);
  EXPECT_EQ(comparison.groups[1].num_processes, 3);
  EXPECT_EQ(comparison.groups[1].num_timed_epochs, 18);
  EXPECT_THAT(comparison.groups[1].seeds, ElementsAre(1, 2, 3));
  expect_golden(comparison.notes);
}

TEST_F(CompareTest, CountsRunsOfOldFilesAsOneProcess) {
  for (const int64_t seed : {1, 2, 3}) {
    add("n" + std::to_string(seed), sample_run("cpu", "naive", seed, kSlow));
    runs_.back().summary.turn.process = "";
  }
  const Comparison comparison = compared();
  EXPECT_EQ(comparison.groups[0].num_processes, 1);
  EXPECT_TRUE(comparison.groups[0].bounds_are_spread);
  expect_golden(comparison.notes);
}

TEST_F(CompareTest, GivesAVerdictOverFiveProcessesASide) {
  for (const int64_t round : {1, 2, 3, 4, 5})
    for (const std::string layer : {"naive", "fused"}) {
      SampleRun run = sample_run("cpu", layer, 1, layer == "naive" ? kSlow : kFast);
      for (double& seconds : run.train_seconds) seconds *= 1 + 0.1 * static_cast<double>(round);
      run.summary.turn.measurement = "m";
      run.summary.turn.round = round;
      add(layer + std::to_string(round), run);
    }
  const GroupResult fused = compared().groups[1];
  EXPECT_TRUE(fused.is_paired);
  EXPECT_EQ(fused.verdict, TimeVerdict::kFaster);
  EXPECT_NEAR(*fused.ratio_high, 1.25 / 2.25, 1e-9);
}

TEST_F(CompareTest, CountsACopiedFolderOnce) {
  add_pair();
  runs_.push_back(runs_[0]);
  runs_.back().folder = "copied/a";
  const Comparison comparison = compared();
  EXPECT_EQ(comparison.groups[0].num_timed_epochs, 6);
  EXPECT_EQ(compare(runs_, {.baseline = "copied/a"}).baseline, "cpu naive");
  EXPECT_THAT(comparison.groups[0].folders, ElementsAre(folder_.name("a")));
  expect_golden(comparison.warnings);
}

// The names of their folders have the reverse order.
TEST_F(CompareTest, TakesTheFirstRunOfASweepForTheBaseline) {
  add_pair();
  runs_[0].started = "2026-11-21T02:59:51.700Z";
  runs_[1].started = "2026-11-21T02:59:51.100Z";
  EXPECT_EQ(compared().baseline, "cpu fused");
}

TEST_F(CompareTest, SaysThatTheSeedsDiffer) {
  add("a", sample_run("cpu", "naive", 1, kSlow));
  add("b", sample_run("cpu", "fused", 2, kFast));
  add("c", sample_run("cpu", "fused", 1, kFast));
  expect_golden(compared().notes);
}

TEST_F(CompareTest, MarksARunThatDivergedAndTakesAnotherForTheBaseline) {
  SampleRun naive = sample_run("cpu", "naive", 1, kSlow);
  naive.summary.ending = RunEnding::kDiverged;
  add("a", naive);
  add("b", sample_run("cpu", "fused", 1, kFast));
  const Comparison comparison = compared();
  EXPECT_EQ(comparison.baseline, "cpu fused");
  EXPECT_EQ(comparison.groups[0].ended, "diverged");
  EXPECT_EQ(comparison.groups[1].ended, "complete");
  expect_golden(texts_of(comparison.warnings));
  expect_golden(comparison.notes);
  EXPECT_EQ(compare(runs_, {.baseline = "cpu naive"}).baseline, "cpu naive");
}

TEST_F(CompareTest, GoesOnByForceOrForRunsThatWereStartedTogetherAndKeepsTheReason) {
  add_pair([](SampleRun& run) { run.summary.identity.precision = "tf32"; });
  const Comparison forced = compared(OnDifference::kForce), reported = compared(OnDifference::kReport);
  expect_golden(forced.forced);
  EXPECT_EQ(reported.differences, forced.forced);
  EXPECT_THAT(reported.forced, IsEmpty());
  EXPECT_TRUE(forced.groups[1].ratio.has_value());
  add_pair();
  EXPECT_THAT(compared(OnDifference::kForce).forced, IsEmpty()) << "nothing differs";
}

TEST_F(CompareTest, TakesNoRunForTheBaselineThatHasNoTime) {
  add("a", sample_run("cpu", "naive", 1, {9}));
  add("b", sample_run("cpu", "fused", 1, kSlow));
  const Comparison comparison = compared(OnDifference::kForce);
  EXPECT_EQ(comparison.baseline, "cpu fused");
  expect_golden(comparison.notes[0]);
}

TEST_F(CompareTest, MarksHowManyOfPooledRunsWereInterrupted) {
  for (const int64_t seed : {1, 2, 3}) {
    SampleRun run = sample_run("cpu", "naive", seed, kSlow);
    if (seed == 2) run.summary.ending = RunEnding::kInterrupted;
    if (seed == 2) run.summary.epochs = 6;
    add("n" + std::to_string(seed), run);
  }
  const Comparison comparison = compared();
  EXPECT_EQ(comparison.groups[0].ended, "1 of 3 interrupted");
  expect_golden(texts_of(comparison.warnings));
  expect_golden(comparison.notes);
}

TEST_F(CompareTest, TakesTheMetricsOfTheLastWholeEpoch) {
  SampleRun run = sample_run("cpu", "naive", 1, kSlow);
  run.summary.ending = RunEnding::kInterrupted;
  run.summary.epochs = 6;
  run.train_loss_of_cut_epoch = 0.875;
  add("a", run);
  ASSERT_EQ(runs_[0].summary.final_metrics.at("train_loss"), 0.875);
  EXPECT_EQ(compared().groups[0].final_metrics.at("train_loss").median, 0.5);
}

// ---- the names of runs in warnings ----

class WarningsOfRuns : public ComparedRuns {
 protected:
  void add_shared(const std::string& name, SampleRun run) {
    run.summary.warnings = {{warning::kCpuShared, "THE CPU WAS SHARED"}};
    add(name, run);
  }
};

TEST_F(WarningsOfRuns, NameFoldersByTheirLastNames) {
  for (const char* name : {"some/a", "some/b", "other/c"}) add_shared(name, sample_run("cpu", "naive", 1, kSlow));
  add("other/undisturbed", sample_run("cpu", "naive", 1, kSlow));
  expect_golden(texts_of(warnings()));
}

TEST_F(WarningsOfRuns, NameFoldersOfOneNameByTheirPaths) {
  for (const char* name : {"some/a", "other/a"}) {
    SampleRun run = sample_run("cpu", "naive", 1, kSlow);
    run.summary.turn.process = name;
    run.environment.start_time = std::string("2026-11-21T02:5") + (name[0] == 's' ? "1:51Z" : "2:51Z");
    add_shared(name, run);
  }
  expect_golden(texts_of(warnings()));
}

// The details of the warnings differ.
TEST_F(WarningsOfRuns, AreSaidOnceOfSeveral) {
  for (const std::string layer : {"naive", "grouped", "hoisted", "fused", "blocked"}) {
    SampleRun run = sample_run("cpu", layer, 1, kSlow);
    run.environment.cpu.busy_fraction = layer == "fused" ? 0.5 : 0.4;
    add(layer, run);
  }
  expect_golden(texts_of(warnings()));
  add("another", sample_run("cpu", "diagonal", 1, kSlow));
  expect_golden(texts_of(warnings()));
}

TEST_F(WarningsOfRuns, NameAllRunsOfAGroupByTheirNumber) {
  for (const std::string layer : {"naive", "fused"})
    for (const int64_t seed : {1, 2, 3}) {
      const SampleRun run = sample_run("cpu", layer, seed, kSlow);
      const std::string name = layer + std::to_string(seed);
      layer == "naive" || seed == 2 ? add_shared(name, run) : add(name, run);
    }
  expect_golden(texts_of(warnings()));
}

TEST_F(WarningsOfRuns, NameFewerWhereTheirNamesAreLong) {
  for (const char name : {'a', 'b', 'c'})
    add_shared(std::string(1, name), sample_run("cpu", std::string(60, name), 1, kSlow));
  add("undisturbed", sample_run("cpu", "naive", 1, kSlow));
  expect_golden(texts_of(warnings()));
}

// ---- all runs of one side before the other side ----

class MeasuringOrder : public ComparedRuns {
 protected:
  // `minutes` has the start of each run.
  void add_at(const std::string& layer, const std::vector<int>& minutes) {
    for (const int minute : minutes) {
      SampleRun run = sample_run("cpu", layer, 1, {9, 2.0, 2.3, 2.1, 2.2, 2.05, 2.15, 2.25, 2.12});
      run.environment.start_time = fmt::format("2026-11-21T02:{:02}:00Z", minute);
      add(fmt::format("{}{}", layer, minute), run);
    }
  }
};

constexpr const char* kWhole = "was measured as a whole";

TEST_F(MeasuringOrder, IsAWarningWhereAnIntervalClaimsSomething) {
  add_at("naive", {1, 2, 3});
  add_at("fused", {4, 5, 6});
  EXPECT_THAT(kinds_of(warnings()), ElementsAre(warning::kOneAfterTheOther));
}

TEST_F(MeasuringOrder, IsANoteWhereNothingIsClaimed) {
  add_at("naive", {1});
  add_at("fused", {4});
  EXPECT_THAT(warnings(), IsEmpty());
  EXPECT_THAT(compared().notes, Contains(HasSubstr(kWhole)));
}

TEST_F(MeasuringOrder, IsNotReportedForAlternatingRuns) {
  add_at("naive", {1, 4, 5});
  add_at("fused", {2, 3, 6});
  EXPECT_THAT(warnings(), IsEmpty());
  EXPECT_THAT(compared().notes, Each(Not(HasSubstr(kWhole))));
}

// ---- times and metrics ----

TEST_F(CompareTest, HasTheMetricsOfTheBestEpoch) {
  add("a", sample_run("cpu", "naive", 1, kSlow));
  for (EpochRow& row : runs_[0].rows) row.valid_loss = row.epoch == 3 ? 0.125 : 0.25;
  const GroupResult group = compared().groups[0];
  EXPECT_THAT(group.best_epochs, ElementsAre(3));
  EXPECT_EQ(group.best_metrics.at("valid_loss").median, 0.125);
  EXPECT_EQ(group.final_metrics.at("valid_loss").median, 0.25);
}

TEST_F(CompareTest, HasNoTimeWhenAllWasWarmUp) {
  add_pair([](SampleRun& run) { run.train_seconds = {1}; });
  const Comparison comparison = compared();
  EXPECT_FALSE(comparison.groups[1].seconds.has_value());
  EXPECT_FALSE(comparison.groups[1].ratio.has_value());
}

TEST_F(CompareTest, KeepsAMetricThatIsNotANumber) {
  for (const int64_t seed : {1, 2}) {
    add("n" + std::to_string(seed), sample_run("cpu", "naive", seed, kSlow));
    runs_.back().summary.final_metrics["train_loss"] = seed == 1 ? std::nan("") : 0.5;
  }
  EXPECT_TRUE(std::isnan(compared().groups[0].final_metrics.at("train_loss").median));
}

TEST(Compare, NeedsRuns) {
  expect_error(ExitCode::kUsage, [] { compare({}, {}); });
}

// Returns one run in each round, whose seconds are multiplied by the slowness of the round.
std::vector<RunRecord> rounds(const std::string& side, double seconds, const std::vector<double>& slowness) {
  std::vector<RunRecord> runs;
  for (size_t i = 0; i < slowness.size(); ++i)
    runs.push_back(sample_record(side, static_cast<int64_t>(i) + 1, {seconds * slowness[i]}));
  return runs;
}

GroupResult measured(const std::vector<RunRecord>& runs) {
  GroupResult result;
  static_cast<GroupTime&>(result) = time_of(group_of(runs));
  return result;
}

GroupResult compared(const std::vector<RunRecord>& runs, const std::vector<RunRecord>& baseline) {
  GroupResult result = measured(runs);
  static_cast<TimeRatio&>(result) = time_ratio(group_of(runs), group_of(baseline));
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

// An interval from .7 to 1.4 also contains differences that matter.
TEST(GroupTime, IsUndecidedWhereAWideIntervalHoldsOne) {
  const GroupResult wide = compared(rounds("a", 1, {1, 1.6, 0.8, 1.3, 0.9}), rounds("b", 1, {1.2, 1, 1.1, 0.9, 1}));
  EXPECT_LT(*wide.ratio_low, 1);
  EXPECT_GT(*wide.ratio_high, kNoDifferenceRatio);
  EXPECT_EQ(wide.verdict, TimeVerdict::kUndecided);
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

// Many epochs of one process are still one measurement.
TEST(GroupTime, FiftyEpochsOfOneProcessAreOneProcess) {
  const std::vector<RunRecord> naive = {process_record("p", std::vector<double>(50, 2))};
  const std::vector<RunRecord> fused = {process_record("p", std::vector<double>(50, 1))};
  const GroupResult result = compared(fused, naive);
  EXPECT_EQ(result.ratio, 0.5);
  EXPECT_FALSE(result.ratio_low);
  EXPECT_EQ(result.verdict, TimeVerdict::kNone);
}

// ---- seconds until training.stop_at was reached ----

// Returns runs whose training reached an accuracy after these seconds; nothing for one that did not.
std::vector<RunRecord> runs_to_target(const std::vector<std::optional<double>>& seconds) {
  std::vector<RunRecord> runs;
  for (const auto& one : seconds) {
    RunRecord& run = runs.emplace_back();
    run.summary.target = TargetRecord{.stop_at = {{"valid_accuracy", 0.98}},
                                      .epoch = one ? std::optional<int64_t>(2) : std::nullopt,
                                      .train_seconds = one};
  }
  return runs;
}

TEST(TargetTime, HasAnIntervalWhereAllRunsReachedIt) {
  const auto runs = runs_to_target({10, 11, 12});
  const TargetTime time = target_time(group_of(runs)).value();
  EXPECT_EQ(time.num_reached, 3);
  EXPECT_NEAR(time.seconds.value(), std::cbrt(10.0 * 11 * 12), 1e-12);
  EXPECT_LT(time.low_seconds.value(), 10.5);
  EXPECT_GT(time.high_seconds.value(), 11.5);
}

TEST(TargetTime, IsAbsentWhereARunDidNotReachIt) {
  const auto runs = runs_to_target({10, std::nullopt, 12});
  const TargetTime time = target_time(group_of(runs)).value();
  EXPECT_EQ(time.num_reached, 2);
  EXPECT_EQ(time.num_runs, 3);
  EXPECT_EQ(time.seconds, std::nullopt);
  const auto two = runs_to_target({10, 11});
  EXPECT_EQ(target_time(group_of(two))->low_seconds, std::nullopt) << "two runs are too few for an interval";
}

TEST(TargetTime, IsOfRunsWithOneTarget) {
  auto runs = runs_to_target({10, 11});
  runs[1].summary.target->stop_at = {{"valid_accuracy", 0.99}};
  EXPECT_FALSE(target_time(group_of(runs)).has_value());
  runs[1].summary.target.reset();
  EXPECT_FALSE(target_time(group_of(runs)).has_value());
}

}  // namespace
}  // namespace rnnlab::testing
