// SPDX-License-Identifier: Apache-2.0
#include "results/comparison.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/expect_error.h"
#include "base/statistics.h"
#include "base/system/temporary_folder.h"
#include "base/text.h"
#include "golden.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::vector<double> kSlow = {9, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5};
constexpr const char* kFewSeeds =
    "losses and metrics of fewer than 3 seeds (cpu naive, cpu fused): different seeds give different values";
const std::vector<double> kFast = {9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5};

class CompareTest : public ::testing::Test {
 protected:
  void add(const std::string& name, const SampleRun& run) {
    run.write(folder_.path() / name);
    runs_.push_back(load_run(folder_.path() / name));
  }
  // Adds two runs of the same work, the second of which was changed by `change`.
  void add_pair(const std::function<void(SampleRun&)>& change) {
    add("a", sample_run("cpu", "naive", 1, kSlow));
    SampleRun other = sample_run("cpu", "fused", 1, kFast);
    change(other);
    add("b", other);
  }
  void expect_refused(const std::string& reasons) {
    expect_error(
        ExitCode::kUsage,
        "these runs did not do the same work under the same conditions:\n  " + reasons +
            "\nName fewer runs, run all of them again under equal conditions, or use --force to compare anyway",
        [&] { compare(runs_, {}); });
  }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

TEST_F(CompareTest, SetsEveryGroupAgainstTheFirst) {
  add_pair([](SampleRun&) {});
  const Comparison comparison = compare(runs_, {});
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
  EXPECT_THAT(texts_of(comparison.warnings), IsEmpty());
  EXPECT_THAT(comparison.notes, ElementsAre(kFewSeeds));
}

TEST_F(CompareTest, TakesTheBaselineByLabelOrFolder) {
  add_pair([](SampleRun&) {});
  EXPECT_EQ(compare(runs_, {.baseline = "cpu fused"}).baseline, "cpu fused");
  EXPECT_EQ(compare(runs_, {.baseline = folder_.name("b") + "/"}).baseline, "cpu fused");
  expect_error(ExitCode::kUsage, [&] { compare(runs_, {.baseline = "gpu"}); });
}

TEST_F(CompareTest, PoolsSeedsAndSaysSo) {
  for (const int64_t seed : {1, 2, 3}) {
    add("n" + std::to_string(seed), sample_run("cpu", "naive", seed, kSlow));
    add("f" + std::to_string(seed), sample_run("cuda:0", "fused", seed, kFast));
  }
  const Comparison comparison = compare(runs_, {});
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
  const Comparison comparison = compare(runs_, {});
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
  const GroupResult fused = compare(runs_, {}).groups[1];
  EXPECT_TRUE(fused.is_paired);
  EXPECT_EQ(fused.verdict, TimeVerdict::kFaster);
  EXPECT_NEAR(*fused.ratio_high, 1.25 / 2.25, 1e-9);
}

TEST_F(CompareTest, CallsFoldersByTheirLastNamesInWarnings) {
  for (const char* name : {"some/a", "some/b", "other/c"}) {
    SampleRun run = sample_run("cpu", "naive", 1, kSlow);
    run.summary.warnings = {{warning::kCpuShared, "THE CPU WAS SHARED"}};
    add(name, run);
  }
  add("other/undisturbed", sample_run("cpu", "naive", 1, kSlow));
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(CompareTest, CallsFoldersOfOneNameByTheirPathsInWarnings) {
  for (const char* name : {"some/a", "other/a"}) {
    SampleRun run = sample_run("cpu", "naive", 1, kSlow);
    run.summary.warnings = {{warning::kCpuShared, "THE CPU WAS SHARED"}};
    run.summary.turn.process = name;
    run.environment.start_time = std::string("2026-11-21T02:5") + (name[0] == 's' ? "1:51Z" : "2:51Z");
    add(name, run);
  }
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(CompareTest, CountsACopiedFolderOnce) {
  add_pair([](SampleRun&) {});
  runs_.push_back(runs_[0]);
  runs_.back().folder = "copied/a";
  const Comparison comparison = compare(runs_, {});
  EXPECT_EQ(comparison.groups[0].num_timed_epochs, 6);
  EXPECT_EQ(compare(runs_, {.baseline = "copied/a"}).baseline, "cpu naive");
  EXPECT_THAT(comparison.groups[0].folders, ElementsAre(folder_.name("a")));
  EXPECT_THAT(comparison.notes, ElementsAre(kFewSeeds));
  expect_golden(texts_of(comparison.warnings));
}

// The names of their folders have the reverse order.
TEST_F(CompareTest, TakesTheFirstRunOfASweepForTheBaseline) {
  add_pair([](SampleRun&) {});
  runs_[0].started = "2026-11-21T02:59:51.700Z";
  runs_[1].started = "2026-11-21T02:59:51.100Z";
  EXPECT_EQ(compare(runs_, {}).baseline, "cpu fused");
}

TEST_F(CompareTest, SaysThatTheSeedsDiffer) {
  add("a", sample_run("cpu", "naive", 1, kSlow));
  add("b", sample_run("cpu", "fused", 2, kFast));
  add("c", sample_run("cpu", "fused", 1, kFast));
  expect_golden(compare(runs_, {}).notes);
}

TEST_F(CompareTest, RefusesAndNamesEveryDifference) {
  add_pair([](SampleRun& run) {
    Identity& identity = run.summary.identity;
    identity.batch_size = 64;
    identity.model_hash = "m2";
    identity.training_hash = "t2";
    identity.placement = "host";
    identity.precision = "tf32";
    identity.cpu_model = "Other CPU";
    identity.gpu_model = "Other GPU";
    identity.num_threads = 8;
    identity.build_type = "Debug, not optimised";
    identity.data_fingerprint = "d2";
    identity.initial_weights_sha256 = "w2";
  });
  expect_refused(
      "batch size: 128 in cpu naive, 64 in cpu fused\n"
      "  model: " +
      sample_model_hash() +
      " in cpu naive, m2 in cpu fused\n"
      "  training settings: " +
      sample_training_hash() +
      " in cpu naive, t2 in cpu fused\n"
      "  placement of the data: device in cpu naive, host in cpu fused\n"
      "  precision: fp32 in cpu naive, tf32 in cpu fused\n"
      "  hardware (CPU): Some CPU in cpu naive, Other CPU in cpu fused\n"
      "  hardware (GPU): Some GPU in cpu naive, Other GPU in cpu fused\n"
      "  number of threads (training.num_threads): 2 in cpu naive, 8 in cpu fused\n"
      "  build: Release in cpu naive, Debug, not optimised in cpu fused\n"
      "  data: d1 in " +
      folder_.name("a") + ", d2 in " + folder_.name("b") + "\n  initial weights of seed 1: w1 in " + folder_.name("a") +
      ", w2 in " + folder_.name("b"));
}

// The difference is in a repeat, not in the first run of a side.
TEST_F(CompareTest, LooksAtEveryRunOfASide) {
  for (const int64_t round : {1, 2, 3})
    for (const std::string layer : {"naive", "fused"}) {
      SampleRun run = sample_run("cpu", layer, 1, layer == "naive" ? kSlow : kFast);
      run.summary.turn = {.process = layer + std::to_string(round), .measurement = "m", .round = round};
      run.environment.host.machine_id = layer == "fused" && round == 3 ? "another" : "one";
      run.environment.start_time = fmt::format("2026-11-21T0{}:00:00Z", 2 * round + (layer == "fused" ? 1 : 0));
      add(layer + std::to_string(round), run);
    }
  expect_golden(texts_of(compare(runs_, {}).warnings));
  for (EpochRow& row : runs_.back().rows) row.samples_per_second /= 2;
  expect_refused("samples an epoch: 120000 in cpu naive, 60000 in cpu fused\n  samples an epoch: 120000 in " +
                 folder_.name("fused1") + ", 60000 in " + folder_.name("fused3"));
}

TEST_F(CompareTest, KeepsARunThatDidNotRecordAConditionInItsSide) {
  for (const int64_t round : {1, 2, 3}) {
    SampleRun run = sample_run("cpu", "naive", 1, kSlow);
    run.summary.turn = {.process = std::to_string(round), .measurement = "m", .round = round};
    run.environment.cpu.quota = round == 2 ? "" : "none";
    add("n" + std::to_string(round), run);
  }
  EXPECT_EQ(compare(runs_, {}).groups.size(), 1u);
  runs_.back().summary.identity.conditions.cpu_quota = "0.4 CPUs";
  EXPECT_EQ(group_runs(runs_).size(), 2u);
}

TEST_F(CompareTest, GoesOnByForceAndKeepsTheReason) {
  add_pair([](SampleRun& run) { run.summary.identity.precision = "tf32"; });
  const Comparison comparison = compare(runs_, {.baseline = "", .on_difference = OnDifference::kForce});
  expect_golden(comparison.forced);
  EXPECT_TRUE(comparison.groups[1].ratio.has_value());
}

TEST_F(CompareTest, ReportsDifferencesOfRunsThatWereStartedTogether) {
  add_pair([](SampleRun& run) { run.summary.identity.precision = "tf32"; });
  const Comparison comparison = compare(runs_, {.baseline = "", .on_difference = OnDifference::kReport});
  expect_golden(comparison.differences);
  EXPECT_THAT(comparison.forced, IsEmpty());
}

TEST_F(CompareTest, NeedsNoForceWhereNothingDiffers) {
  add_pair([](SampleRun&) {});
  EXPECT_THAT(compare(runs_, {.baseline = "", .on_difference = OnDifference::kForce}).forced, IsEmpty());
}

TEST_F(CompareTest, LabelsEverySettingThatDiffers) {
  for (const char* threads : {"1", "2"})
    for (const char* data_seed : {"3", "4"}) {
      SampleRun run = sample_run("cpu", "naive", 1, kSlow);
      run.config += fmt::format("  num_threads: {}\ndata:\n  seed: {}\n", threads, data_seed);
      add(fmt::format("{}{}", threads, data_seed), run);
    }
  const Comparison comparison = compare(runs_, {});
  ASSERT_EQ(comparison.groups.size(), 4u);
  expect_golden(comparison.groups[0].label);
  expect_golden(comparison.groups[3].label);
}

constexpr const char* kDiverged = "training diverged at epoch 8, step 3: the loss is nan";

TEST_F(CompareTest, MarksARunThatDivergedAndTakesAnotherForTheBaseline) {
  SampleRun naive = sample_run("cpu", "naive", 1, kSlow);
  naive.summary.stop_reason = kDiverged;
  naive.summary.ending = RunEnding::kDiverged;
  add("a", naive);
  add("b", sample_run("cpu", "fused", 1, kFast));
  const Comparison comparison = compare(runs_, {});
  EXPECT_EQ(comparison.baseline, "cpu fused");
  EXPECT_EQ(comparison.groups[0].ended, "diverged");
  EXPECT_EQ(comparison.groups[1].ended, "complete");
  expect_golden(texts_of(comparison.warnings));
  expect_golden(comparison.notes);
  EXPECT_EQ(compare(runs_, {.baseline = "cpu naive"}).baseline, "cpu naive");
}

TEST_F(CompareTest, TakesNoRunForTheBaselineThatHasNoTime) {
  add("a", sample_run("cpu", "naive", 1, {9}));
  add("b", sample_run("cpu", "fused", 1, kSlow));
  const Comparison comparison = compare(runs_, {.baseline = "", .on_difference = OnDifference::kForce});
  EXPECT_EQ(comparison.baseline, "cpu fused");
  expect_golden(comparison.notes);
}

TEST_F(CompareTest, MarksHowManyOfPooledRunsWereInterrupted) {
  for (const int64_t seed : {1, 2, 3}) {
    SampleRun run = sample_run("cpu", "naive", seed, kSlow);
    if (seed == 2) run.summary.ending = RunEnding::kInterrupted;
    if (seed == 2) run.summary.epochs = 6;
    add("n" + std::to_string(seed), run);
  }
  const Comparison comparison = compare(runs_, {});
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
  EXPECT_EQ(compare(runs_, {}).groups[0].final_metrics.at("train_loss").median, 0.5);
}

TEST_F(CompareTest, NotesRunsOfDifferentLengths) {
  add_pair([](SampleRun& run) { run.summary.epochs = 5; });
  expect_golden(compare(runs_, {}).notes);
}

TEST_F(CompareTest, RefusesOneSeedWithTwoSetsOfWeights) {
  add("a", sample_run("cpu", "naive", 1, kSlow));
  SampleRun other = sample_run("cpu", "naive", 1, kSlow);
  other.summary.identity.initial_weights_sha256 = "w2";
  add("b", other);
  expect_refused("initial weights of seed 1: w1 in " + folder_.name("a") + ", w2 in " + folder_.name("b"));
}

TEST_F(CompareTest, LetsDataFollowTheSeed) {
  for (const int64_t seed : {1, 2})
    for (const std::string layer : {"naive", "fused"}) {
      SampleRun run = sample_run("cpu", layer, seed, kSlow);
      run.summary.identity.data_fingerprint = "d" + std::to_string(seed);
      add(layer + std::to_string(seed), run);
    }
  EXPECT_THAT(compare(runs_, {}).forced, IsEmpty());
}

TEST_F(CompareTest, ComparesCpuAndGpuOfOneMachine) {
  add("a", sample_run("cpu", "naive", 1, kSlow));
  add("b", sample_run("cuda:0", "naive", 1, kFast));
  EXPECT_THAT(compare(runs_, {}).forced, IsEmpty());
}

TEST_F(CompareTest, NotesAGpuThatOnlyOneRecordedAndOtherVersions) {
  add_pair([](SampleRun& run) {
    run.summary.identity.gpu_model = "";
    run.environment.software.cudnn = "9.20";
    run.environment.build.git_revision = std::string(40, 'b');
  });
  expect_golden(compare(runs_, {}).notes);
}

TEST_F(CompareTest, KeepsTwoVersionsOfTheProgramApart) {
  add("a", sample_run("cpu", "naive", 1, kSlow));
  SampleRun newer = sample_run("cpu", "naive", 1, kFast);
  newer.environment.build.git_revision = std::string(40, 'b');
  add("b", newer);
  const Comparison comparison = compare(runs_, {});
  ASSERT_EQ(comparison.groups.size(), 2u);
  EXPECT_EQ(comparison.groups[0].label, folder_.name("a"));
}

TEST_F(CompareTest, ShoutsWhatMakesTimesDoubtful) {
  add_pair([](SampleRun& run) {
    run.train_seconds = {1, 1, 1};
    run.summary.epochs = 3;
    run.environment.nvidia.gpus[0].compute_pids = {42};
  });
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(CompareTest, NamesTheRunOfAPoolThatAWarningIsAbout) {
  for (const int64_t seed : {1, 2}) {
    SampleRun run = sample_run("cpu", "naive", seed, kSlow);
    run.environment.cpu.busy_fraction = seed == 2 ? 0.5 : 0;
    add("n" + std::to_string(seed), run);
  }
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(CompareTest, SaysAWarningAboutSeveralRunsOnce) {
  const std::vector<std::string> layers = {"naive", "grouped", "hoisted", "fused", "blocked"};
  for (const std::string& layer : layers) {
    SampleRun run = sample_run("cpu", layer, 1, kSlow);
    run.environment.cpu.busy_fraction = layer == "fused" ? 0.5 : 0.4;
    add(layer, run);
  }
  expect_golden(texts_of(compare(runs_, {}).warnings));
  add("another", sample_run("cpu", "diagonal", 1, kSlow));
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(CompareTest, CallsAllRunsOfAGroupByTheirNumber) {
  for (const std::string layer : {"naive", "fused"})
    for (const int64_t seed : {1, 2, 3}) {
      SampleRun run = sample_run("cpu", layer, seed, kSlow);
      if (layer == "naive" || seed == 2) run.summary.warnings = {{warning::kCpuShared, "THE CPU WAS SHARED"}};
      add(layer + std::to_string(seed), run);
    }
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(CompareTest, NamesFewerRunsWhereTheirNamesAreLong) {
  for (const char name : {'a', 'b', 'c'}) {
    SampleRun run = sample_run("cpu", std::string(60, name), 1, kSlow);
    run.environment.cpu.busy_fraction = 0.4;
    add(std::string(1, name), run);
  }
  add("undisturbed", sample_run("cpu", "naive", 1, kSlow));
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

TEST_F(CompareTest, RefusesSeveralForOneReasonOnce) {
  for (const std::string layer : {"naive", "fused", "hoisted"}) {
    SampleRun run = sample_run("cpu", layer, 1, kSlow);
    run.summary.identity.batch_size = layer == "naive" ? 64 : 128;
    add(layer, run);
  }
  expect_refused("batch size: 64 in cpu naive, 128 in cpu fused and cpu hoisted");
}

TEST_F(CompareTest, HasNoTimeWhenAllWasWarmUp) {
  add_pair([](SampleRun& run) { run.train_seconds = {1}; });
  const Comparison comparison = compare(runs_, {});
  EXPECT_FALSE(comparison.groups[1].seconds.has_value());
  EXPECT_FALSE(comparison.groups[1].ratio.has_value());
}

TEST_F(CompareTest, KeepsAMetricThatIsNotANumber) {
  for (const int64_t seed : {1, 2}) {
    add("n" + std::to_string(seed), sample_run("cpu", "naive", seed, kSlow));
    runs_.back().summary.final_metrics["train_loss"] = seed == 1 ? std::nan("") : 0.5;
  }
  EXPECT_TRUE(std::isnan(compare(runs_, {}).groups[0].final_metrics.at("train_loss").median));
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

}  // namespace
}  // namespace rnnlab::testing
