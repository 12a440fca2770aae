// SPDX-License-Identifier: Apache-2.0
#include "runs/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"
#include "results/run_record.h"
#include "runs/tiny_experiment.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::tiny_experiment;

class RunExperiment : public ::testing::Test {
 protected:
  RunOutcome run(const Experiment& experiment) {
    Logger logger(Verbosity::kQuiet, Terminal{});
    return run_experiment(experiment, {.out = out_.path(), .command_line = {"rnnlab", "train"}, .console = {}}, logger);
  }
  TemporaryFolder out_;
};

TEST_F(RunExperiment, WritesTheWholeRunFolder) {
  const RunOutcome outcome = run(tiny_experiment());
  EXPECT_EQ(outcome.exit_code, ExitCode::kDone);
  EXPECT_EQ(outcome.folder.parent_path(), out_.path() / "tiny");
  EXPECT_THAT(outcome.folder.filename().string(), HasSubstr("-cpu-fused"));
  for (const char* file : {kConfigFile, kEnvironmentFile, kLogFile, kEpochsCsvFile, kEpochsJsonlFile, kSummaryFile})
    EXPECT_TRUE(std::filesystem::is_regular_file(outcome.folder / file)) << file;
}

TEST_F(RunExperiment, LogsOneRowAnEpochAndMarksTheWarmup) {
  const auto rows = read_epochs(run(tiny_experiment()).folder);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].warmup);
  EXPECT_FALSE(rows[1].warmup);
  for (const EpochRow& row : rows) {
    EXPECT_GT(row.train_seconds, 0);
    EXPECT_TRUE(row.metrics.contains("valid_accuracy"));
  }
}

TEST_F(RunExperiment, SummaryHasTheObservedPath) {
  const RunRecord record = load_run(run(tiny_experiment()).folder);
  EXPECT_EQ(record.summary.device, "cpu");
  EXPECT_EQ(record.summary.layer, "fused");
  EXPECT_EQ(record.summary.epochs, 3);
  EXPECT_EQ(record.summary.epoch_time.value().num_epochs, 2);
  expect_golden(record.summary.stop_reason);
  EXPECT_THAT(record.summary.path, HasSubstr("oneDNN"));
  EXPECT_THAT(record.environment.command_line, ElementsAre("rnnlab", "train"));
}

TEST_F(RunExperiment, ItsConfigRunsAgainToTheSameLosses) {
  const RunOutcome first = run(tiny_experiment({"deterministic=true", "training.num_threads=1"}));
  config::Findings findings;
  const auto document = config::Document::from_file(first.folder / kConfigFile, findings);
  const auto experiment = config::read(document, Experiment::schema(), findings);
  ASSERT_TRUE(findings.empty());
  const RunOutcome second = run(experiment);
  EXPECT_EQ(first.summary.final_metrics, second.summary.final_metrics);
  EXPECT_EQ(first.summary.identity.initial_weights_sha256, second.summary.identity.initial_weights_sha256);
}

TEST_F(RunExperiment, LayersStartFromTheSameWeightsAndLearnTheSame) {
  const Summary fused = run(tiny_experiment({"layer=fused"})).summary;
  const Summary naive = run(tiny_experiment({"layer=naive"})).summary;
  EXPECT_EQ(fused.identity.initial_weights_sha256, naive.identity.initial_weights_sha256);
  EXPECT_NEAR(fused.final_metrics.at("train_loss"), naive.final_metrics.at("train_loss"), 1e-4);
}

TEST_F(RunExperiment, SeedsChangeTheWeightsAndNotTheData) {
  const Identity one = run(tiny_experiment({"seed=1"})).summary.identity;
  const Identity two = run(tiny_experiment({"seed=2"})).summary.identity;
  EXPECT_NE(one.initial_weights_sha256, two.initial_weights_sha256);
  EXPECT_EQ(one.data_fingerprint, two.data_fingerprint);
}

TEST_F(RunExperiment, IdentityHasWhatAffectsTimes) {
  const Identity plain = run(tiny_experiment()).summary.identity;
  EXPECT_NE(run(tiny_experiment({"deterministic=true"})).summary.identity.training_hash, plain.training_hash);
  EXPECT_EQ(plain.placement, "device");  // never "auto"
  EXPECT_EQ(run(tiny_experiment({"data.placement=host"})).summary.identity.placement, "host");
  EXPECT_EQ(run(tiny_experiment({"training.epochs=4"})).summary.identity.training_hash, plain.training_hash);
  expect_golden(run(tiny_experiment({"precision=tf32"})).summary.identity.precision);
}

TEST_F(RunExperiment, ADivergedRunSaysSoInItsSummary) {
  const Experiment wild = tiny_experiment({"training.optimizer=sgd", "training.learning_rate=1e38"});
  EXPECT_THROW(run(wild), UserError);
  const auto folder = run_folders_in(out_.path() / "tiny").at(0);
  const RunRecord record = load_run(folder);
  EXPECT_THAT(record.summary.stop_reason, HasSubstr("diverged"));
}

TEST_F(RunExperiment, AVeryHighLossIsAWarning) {
  const RunOutcome wild = run(tiny_experiment({"training.learning_rate=1e30"}));
  EXPECT_EQ(wild.exit_code, ExitCode::kDone);
  const std::string warning = ", more than ten times the 2.303 of outputs that are all 0; ";
  EXPECT_THAT(texts_of(load_run(wild.folder).summary.warnings), ::testing::Contains(HasSubstr(warning)));
  EXPECT_THAT(testing::read_text(wild.folder / kLogFile), HasSubstr(warning));
  EXPECT_THAT(texts_of(run(tiny_experiment()).summary.warnings),
              ::testing::Not(::testing::Contains(HasSubstr(warning))));
}

TEST_F(RunExperiment, ADivergedRunIsReportedIfOtherWorkFails) {
  const auto put_in_the_way = [](const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder / kSummaryFile);
  };
  Logger logger(Verbosity::kQuiet, Terminal{});
  try {
    run_experiment(tiny_experiment({"training.optimizer=sgd", "training.learning_rate=1e38"}),
                   {.out = out_.path(), .command_line = {}, .console = {}, .on_folder = put_in_the_way}, logger);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kDiverged) << error.what();
  }
  const auto folder = run_folders_in(out_.path() / "tiny").at(0);
  EXPECT_THAT(testing::read_text(folder / kLogFile), HasSubstr("/summary.json: cannot replace: Is a directory\n"));
}

TEST_F(RunExperiment, TheLogSaysWhereTheDataLies) {
  EXPECT_THAT(testing::read_text(run(tiny_experiment()).folder / kLogFile),
              HasSubstr("placement device (chosen by auto)\n"));
  EXPECT_THAT(testing::read_text(run(tiny_experiment({"data.placement=host"})).folder / kLogFile),
              HasSubstr("placement host\n"));
}

TEST_F(RunExperiment, GoesWithoutValidation) {
  const Summary summary = run(tiny_experiment({"data.num_valid=0"})).summary;
  EXPECT_EQ(summary.final_metrics.count("train_loss"), 1u);
  EXPECT_EQ(summary.final_metrics.count("valid_loss"), 0u);
}

TEST_F(RunExperiment, NoFolderIsMadeAfterASignal) {
  const StopSignalGuard guard;
  std::raise(SIGTERM);
  try {
    run(tiny_experiment());
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kTerminated);
    expect_golden(error.what());
  }
  EXPECT_TRUE(std::filesystem::is_empty(out_.path()));
}

TEST_F(RunExperiment, NoFolderIsMadeForWhatTheTrainerRefuses) {
  EXPECT_THROW(run(tiny_experiment({"training.batch_size=201", "training.drop_last=true"})), UserError);
  EXPECT_TRUE(std::filesystem::is_empty(out_.path()));
}

TEST_F(RunExperiment, NoFolderIsMadeForMissingData) {
  const Experiment missing =
      testing::cases_of("data: {source: csv, path: nowhere.csv, target: [y]}").front().experiment;
  EXPECT_THROW(run(missing), UserError);
  EXPECT_TRUE(std::filesystem::is_empty(out_.path()));
}

TEST_F(RunExperiment, RecordsBaselinesAndSaysWhereTheModelDoesNotBeatThem) {
  const RunOutcome outcome = run(tiny_experiment({"training.epochs=1", "training.learning_rate=1e-9"}));
  const Summary summary = load_run(outcome.folder).summary;
  ASSERT_EQ(summary.baselines.size(), 1u);
  EXPECT_EQ(summary.baselines[0].name, "most frequent class");
  const std::string log = read_file(outcome.folder / kLogFile, 1 << 20);
  EXPECT_THAT(log, HasSubstr("baseline  most frequent class: valid acc "));
  const bool is_better = summary.final_metrics.at("valid_accuracy") > summary.baselines[0].metrics.at("valid_accuracy");
  const auto is_of_baseline = [](const Warning& one) { return one.kind == warning::kNotBetterThanBaseline; };
  EXPECT_EQ(std::ranges::any_of(summary.warnings, is_of_baseline), !is_better);
}

TEST_F(RunExperiment, DoesNotWarnThatNoiseWasNotLearned) {
  const Summary summary =
      run(testing::cases_of("name: noise\ndevice: cpu\ndata: {source: synthetic, labels: gaussian, num_train: 64, "
                            "num_valid: 32, sequence_length: 3, num_features: 2}\nmodel: {kind: sequence_regressor, "
                            "hidden_size: 4}\ntraining: {epochs: 1}\n")
              .front()
              .experiment)
          .summary;
  EXPECT_EQ(summary.baselines.size(), 1u);
  for (const Warning& one : summary.warnings) EXPECT_NE(one.kind, warning::kNotBetterThanBaseline);
}

TEST_F(RunExperiment, EndsAtATargetAndRecordsTheTrainingUntilThen) {
  const RunOutcome outcome = run(tiny_experiment({"training.stop_at.valid_loss=100"}));
  const RunRecord record = load_run(outcome.folder);
  EXPECT_EQ(record.summary.epochs, 1);
  EXPECT_EQ(record.summary.ending, RunEnding::kComplete);
  expect_golden(record.summary.stop_reason);
  ASSERT_TRUE(record.summary.target.has_value());
  EXPECT_EQ(record.summary.target->epoch, 1);
  EXPECT_EQ(record.summary.target->train_seconds, record.rows[0].train_seconds);
}

TEST_F(RunExperiment, RecordsATargetThatWasNotReached) {
  const Summary summary = run(tiny_experiment({"training.stop_at.valid_loss=1e-9"})).summary;
  EXPECT_EQ(summary.epochs, 3);
  EXPECT_EQ(summary.target->epoch, std::nullopt);
  EXPECT_FALSE(run(tiny_experiment()).summary.target.has_value());
}

}  // namespace
}  // namespace rnnlab
