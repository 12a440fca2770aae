// SPDX-License-Identifier: Apache-2.0
#include "runs/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/run_folder.h"
#include "results/run_record.h"
#include "runs/devices.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

using testing::cases_of;
using testing::expect_error;
using testing::kTinyYaml;
using testing::read_text;
using testing::TemporaryFolder;

// Raises SIGTERM at a step of its run, or SIGINT at the run's end.
class Signaller : public Observer {
 public:
  explicit Signaller(std::optional<int64_t> step) : step_(step) {}
  void on_step(const StepProgress& progress) override {
    if (progress.step == step_) std::raise(SIGTERM);
  }
  bool needs_sync_at(int64_t step) const override { return step == step_; }
  void on_run_end(const TrainingState&) override {
    if (!step_) std::raise(SIGINT);
  }

 private:
  std::optional<int64_t> step_;
};

class RunAll : public ::testing::Test {
 protected:
  // Runs the tiny experiment with `more` keys.
  RunAllOutcome run(const std::string& more, const std::vector<std::string>& overrides = {},
                    RunRequest request = {}) const {
    Logger logger(Verbosity::kQuiet, Terminal{});
    request.out = out_.path();
    return run_all(cases_of(kTinyYaml + more, overrides), request, logger);
  }

  // Runs four of three epochs of four steps, if nothing stops them.
  RunAllOutcome run_four(Signaller signaller, const std::vector<std::string>& overrides = {}) const {
    return run("sweep: {layer: [naive, fused], seed: [1, 2]}\n", overrides, {.observers = {&signaller}});
  }

  const TemporaryFolder out_;
};

TEST(ReadCases, GivesOneCaseForEachCombination) {
  const auto cases = cases_of("sweep: {layer: [naive, fused], model.hidden_size: [8, 16]}\n");
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].label, "layer=naive hidden_size=8");
  EXPECT_EQ(cases[3].label, "layer=fused hidden_size=16");
  EXPECT_EQ(cases[3].experiment.model.hidden_size, 16);
}

constexpr const char* kSeries =
    "data: {source: csv, path: a.csv, target: [y], window: 2}\n"
    "model: {kind: sequence_regressor}\n";

TEST(ReadCases, GivesACaseForEachFold) {
  const auto cases = cases_of(std::string(kSeries) + "sweep: {seed: [1, 2]}\n", {"data.folds=3"});
  ASSERT_EQ(cases.size(), 6u);
  EXPECT_EQ(cases[0].label, "seed=1 fold=1");
  EXPECT_EQ(cases[5].label, "seed=2 fold=3");
  EXPECT_EQ(cases[5].experiment.data.folds, 3);
  EXPECT_EQ(cases[5].experiment.data.fold, 3);
  EXPECT_EQ(cases_of(kSeries, {"data.folds=3"})[1].label, "fold=2");
}

TEST(ReadCases, GivesTheFoldThatIsNamed) {
  const auto cases = cases_of(kSeries, {"data.folds=3", "data.fold=2"});
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].experiment.data.fold, 2);
  EXPECT_EQ(cases_of(kSeries, {"data.folds=3", "sweep={data.fold: [1, 3]}"}).size(), 2u);
}

// A file of an earlier version, without the keys, is of the same work.
TEST(ReadCases, WritesFoldsThatAreNotSetLikeEarlierVersions) {
  const Experiment one = cases_of(kSeries)[0].experiment;
  EXPECT_EQ(one.data.folds, std::nullopt);
  EXPECT_EQ(cases_of(config::print(one, Experiment::schema()))[0].experiment.data.fold, std::nullopt);
}

std::vector<std::string> complaints_about(const std::string& yaml) {
  config::Findings findings;
  read_cases(config::Document::from_text(yaml, "tiny.yaml", findings), findings);
  return findings.lines();
}

TEST(ReadCases, RefusesEqualCasesHoweverTheirValuesAreSpelled) {
  expect_golden(complaints_about("sweep: {training.learning_rate: [0.001, 1e-3, 0.01]}\n"));
  for (const std::string values :
       {"training.learning_rate: [1, 1.0]", "training.learning_rate: [.01, 0.010]", "layer: [fused, 'fused']",
        "model.hidden_size: [8, '8']", "training.shuffle: [true, 'true']", "model.dense: [[32, 16], [32,16]]",
        "training.learning_rate: [1e-3, 2e-3], training: {learning_rate: [1e-3]}", "training.clip_norm: [~, null]"})
    EXPECT_EQ(complaints_about("sweep: {" + values + "}\n").size(), 1u) << values;
  // Drawn values repeat by chance.
  for (const char* values :
       {"training.epochs: {int_uniform: [1, 2]}, num_runs: 9", "seed: [1, 2], training.learning_rate: [1e-3, 2e-3]"})
    EXPECT_THAT(complaints_about(fmt::format("sweep: {{{}}}\n", values)), ::testing::IsEmpty());
}

TEST_F(RunAll, RunsEveryCombination) {
  const auto all = run("sweep: {layer: [naive, fused]}\n");
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  ASSERT_EQ(all.finished.size(), 2u);
  EXPECT_EQ(all.finished[0].summary.layer, "naive");
}

TEST_F(RunAll, ReusesTheChoiceOfAutoForAllSeeds) {
  const auto all = run("sweep: {seed: [1, 2, 3]}\n", {"layer=auto"});
  ASSERT_EQ(all.finished.size(), 3u);
  const std::string layer = all.finished[0].summary.layer;
  EXPECT_THAT(layer, ::testing::MatchesRegex("auto \\(.+\\)"));
  for (const size_t later : {1, 2}) {
    EXPECT_EQ(all.finished[later].summary.layer, layer);
    // Which layer is the fastest depends on the machine.
    EXPECT_THAT(all.finished[later].summary.path_notes,
                ::testing::Contains(::testing::HasSubstr("as in an earlier run ")));
  }
}

TEST_F(RunAll, GivesAllRunsTheNumberOfThreadsThatABusyCpuIsFastestWith) {
  const auto all = run("sweep: {seed: [1, 2]}\n", {}, {.measure_speeds = testing::one_thread_is_fastest});
  ASSERT_EQ(all.finished.size(), 2u);
  for (const RunOutcome& run : all.finished) {
    EXPECT_EQ(run.summary.identity.num_threads, 1);
    EXPECT_THAT(read_text(run.folder / "config.yaml"), ::testing::HasSubstr("num_threads: 1"));
  }
}

TEST_F(RunAll, LeavesANumberOfThreadsThatIsSetAndMeasuresNothing) {
  const auto never = [](int64_t) -> std::map<int64_t, double> { throw std::logic_error("measured"); };
  const auto all = run("", {"training.num_threads=2"}, {.measure_speeds = never});
  ASSERT_EQ(all.finished.size(), 1u);
  EXPECT_EQ(all.finished[0].summary.identity.num_threads, 2);
}

TEST_F(RunAll, GivesAutoItsOwnRow) {
  const auto by_auto = run("", {"layer=auto", "auto_layer=naive"});
  const auto by_name = run("", {"layer=naive"});
  const std::vector<RunRecord> runs = {load_run(by_auto.finished.at(0).folder),
                                       load_run(by_name.finished.at(0).folder)};
  const auto groups = group_runs(runs);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].label, "cpu auto (naive)");
  EXPECT_EQ(groups[1].label, "cpu naive");
}

TEST_F(RunAll, ContinuesAfterAFailureAndReturnsItsExitCode) {
  const auto all = run("sweep: {device: [cuda:99, cpu]}\n");
  EXPECT_EQ(all.exit_code, ExitCode::kDevice);
  ASSERT_EQ(all.finished.size(), 1u);
  EXPECT_EQ(all.finished[0].summary.device, "cpu");
}

TEST_F(RunAll, BeginsNoRunAfterASignalAtTheEndOfOne) {
  const auto all = run_four(Signaller(std::nullopt));
  EXPECT_EQ(all.exit_code, ExitCode::kInterrupted);
  ASSERT_EQ(all.finished.size(), 1u);
  expect_golden(all.finished[0].summary.stop_reason);
}

TEST_F(RunAll, BeginsNoRunAfterASignalWithinOne) {
  const auto all = run_four(Signaller(6));
  EXPECT_EQ(all.exit_code, ExitCode::kTerminated);
  ASSERT_EQ(all.finished.size(), 1u);
  EXPECT_EQ(all.finished[0].summary.stop_reason, "terminated (SIGTERM)");
  EXPECT_EQ(all.finished[0].summary.epochs, 1) << "whole ones";
}

TEST_F(RunAll, SaysWhichEpochWasCutShort) {
  Signaller signaller(6);
  const auto all = run("", {}, {.observers = {&signaller}});
  EXPECT_THAT(read_text(all.finished.at(0).folder / "train.log"), ::testing::HasSubstr("epoch 2 was cut short "));
  EXPECT_THAT(read_text(all.finished[0].folder / "train.log"), ::testing::HasSubstr("  (cut short)\n"));
  EXPECT_EQ(all.finished[0].summary.ending, RunEnding::kInterrupted);
}

TEST_F(RunAll, LeavesASummaryOfARunThatDivergedMarkedAsSuch) {
  run("", {"training.optimizer=sgd", "training.learning_rate=1e38"});
  const auto run = run_folders_in(out_.path() / "tiny").at(0);
  EXPECT_EQ(read_summary(run).ending, RunEnding::kDiverged);
}

TEST_F(RunAll, AnswersASignalAtOnce) {
  ::testing::internal::CaptureStderr();
  run_four(Signaller(6));
  expect_golden(::testing::internal::GetCapturedStderr());
}

TEST_F(RunAll, WarnsOfMissingDevicesBeforeAnythingTrains) {
  ::testing::internal::CaptureStderr();
  run("sweep: {device: [cpu, cuda:99], layer: [naive, fused]}\n");
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, ::testing::HasSubstr("2 of 4 cases "));
  EXPECT_LT(log.find("cannot run"), log.find("error"));
}

TEST_F(RunAll, BeginsNoRunIfNoCaseHasItsDevice) {
  EXPECT_THROW(run("sweep: {device: [cuda:98, cuda:99]}\n"), UserError);
  EXPECT_TRUE(std::filesystem::is_empty(out_.path()));
}

TEST_F(RunAll, WarnsOfUnsupportedLayersBeforeAnythingTrains) {
  if (device_error("cuda").empty()) GTEST_SKIP() << "a GPU has them all";
  ::testing::internal::CaptureStderr();
  run("sweep: {layer: [naive, cudnn, fused]}\n", {"device=auto"});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("1 of 3 cases "));
}

TEST_F(RunAll, NamesThePlaceOfTheKeyThatARunIsRefusedFor) {
  ::testing::internal::CaptureStderr();
  run("", {"device=cuda:99"});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("argument 'device=cuda:99': "));
}

TEST(ReadCases, ResolvesDataRelativeToTheFile) {
  const TemporaryFolder folder;
  testing::write_text(folder.path() / "mine" / "a.csv", "x,y\n1,2\n");
  testing::write_text(folder.path() / "mine" / "a.yaml", "data: {source: csv, path: a.csv, target: [y]}\n");
  config::Findings findings;
  const auto document = config::Document::from_file((folder.path() / "mine" / "a.yaml").string(), findings);
  const auto cases = read_cases(document, findings);
  EXPECT_EQ(cases.at(0).experiment.data.path, (folder.path() / "mine" / "a.csv").string());
}

TEST_F(RunAll, BeginsNoRunAfterASignalInOneThatFails) {
  const auto all = run_four(Signaller(2), {"training.optimizer=sgd", "training.learning_rate=1e38"});
  EXPECT_EQ(all.exit_code, ExitCode::kTerminated);
  EXPECT_TRUE(all.finished.empty());
}

SweepPlan plan_of(const std::string& more, Spread spread = Spread::kRounds) {
  return plan_sweep(cases_of(kTinyYaml + more), spread, {}, {"rnnlab"});
}

TEST(PlanSweep, KeepsTheSidesOfAComparisonTogether) {
  const std::string sweep = "sweep: {seed: [1, 2, 3], layer: [naive, fused]}\n";
  EXPECT_EQ(plan_of(sweep).num_tasks(), 3) << "one of each seed";
  EXPECT_EQ(plan_of(sweep).num_runs(), 6);
  EXPECT_EQ(plan_of(sweep, Spread::kRuns).num_tasks(), 6);
}

TEST(PlanSweep, SeparatesCasesThatCannotBeCompared) {
  EXPECT_EQ(plan_of("sweep: {training.batch_size: [10, 20]}\n").num_tasks(), 2);
  EXPECT_EQ(plan_of("sweep: {precision: [fp32, tf32]}\n").num_tasks(), 2);
  EXPECT_EQ(plan_of("sweep: {model.hidden_size: [8, 16]}\n").num_tasks(), 2);
  EXPECT_EQ(plan_of("sweep: {data.num_train: [100, 200]}\n").num_tasks(), 2);
  EXPECT_EQ(plan_of("sweep: {training.cuda_graph: [false, true]}\n").num_tasks(), 1) << "does the same work";
}

TEST(PlanSweep, SeparatesFolds) {
  const SweepPlan plan = plan_sweep(cases_of(std::string(kSeries) + "layer: naive\n", {"data.folds=3", "repeats=2"}),
                                    Spread::kRounds, {}, {"rnnlab"});
  EXPECT_EQ(plan.num_tasks(), 6);
  EXPECT_EQ(plan.num_runs(), 6);
}

TEST(PlanSweep, MakesARunOfEachRepeat) {
  const SweepPlan plan = plan_of("sweep: {layer: [naive, fused]}\nrepeats: 5\n");
  EXPECT_EQ(plan.num_tasks(), 5);
  EXPECT_EQ(plan.num_runs(), 10);
  EXPECT_EQ(plan.tasks[4].runs[1].round, 5);
  EXPECT_EQ(plan.tasks[4].runs[1].position, 2);
}

TEST(PlanSweep, KeepsExperimentsWhole) {
  const SweepPlan plan = plan_of("sweep: {seed: [1, 2]}\n");
  EXPECT_EQ(cases_of(plan.cases[1].experiment)[0].experiment.seed, 2);
}

TEST(PlanSweep, RefusesRoundsUpToAPrecision) {
  expect_error(ExitCode::kUsage, [] { plan_of("repeats: {until: 1 %, at_most: 20}\n"); });
}

TEST(Sweep, ReportsAWrongDistributionOnce) {
  const auto complaints = [](const std::string& sweep) {
    config::Findings findings;
    const auto document = config::Document::from_text(
        std::string(testing::kTinyYaml) + "sweep: {model.hidden_size: {" + sweep + "}, num_runs: 20}\n", "a.yaml",
        findings);
    read_cases(document, findings);
    return findings.lines();
  };
  expect_golden(complaints("normal: [16, 64]"));
  expect_golden(complaints("log_uniform: [16, 64]"));
  expect_golden(complaints("uniform: [16, 64], int_uniform: [1, 2]"));
  EXPECT_THAT(complaints("int_uniform: [16, 64]"), ::testing::IsEmpty());
}

TEST(SweepClock, KnowsNothingBeforeTheFirstRun) { EXPECT_EQ(SweepClock().text(std::vector<int64_t>{1, 2}), ""); }

TEST(SweepClock, SaysThatTheFirstRunIsTheOnlyMeasure) {
  SweepClock clock;
  clock.record(1, 60);
  expect_golden(clock.text(std::vector<int64_t>{2, 3, 4}));
}

TEST(SweepClock, GivesARangeWhereRunsTakeUnequalTimes) {
  SweepClock clock;
  clock.record(1, 60);
  clock.record(2, 20);
  expect_golden(clock.text(std::vector<int64_t>{3}));
}

TEST(SweepClock, KnowsTheCasesThatHaveRunBefore) {
  SweepClock clock;
  clock.record(1, 60);
  clock.record(2, 20);
  clock.record(2, 22);
  expect_golden(clock.text(std::vector<int64_t>{1, 2, 2}));
  expect_golden(SweepClock(clock).text(std::vector<int64_t>{}));
}

}  // namespace
}  // namespace rnnlab
