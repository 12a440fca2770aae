// SPDX-License-Identifier: Apache-2.0
#include "runs/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/expect_error.h"
#include "golden.h"
#include "runs/sweep.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

using testing::cases_of;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::tiny_experiment;

DryRun quiet_dry_run(const std::vector<std::string>& overrides = {}) {
  Logger logger(Verbosity::kErrors, Terminal{});
  return dry_run(tiny_experiment(overrides), {}, logger);
}

// Returns numbers that a test can state.
DryRun with_known_times(DryRun outcome) {
  outcome.memory = {.least = {.data = 1 << 20, .weights = 1024}, .on_host = 1 << 21};
  outcome.first_step_seconds = 0.5;
  outcome.step_seconds = 0.01;
  outcome.epoch_train_seconds = 0.04;
  outcome.epoch_valid_seconds = 0.002;
  outcome.run_seconds = 0.126;
  return outcome;
}

TEST(DryRun, EstimatesAnEpochAndTheRunFromOneBatch) {
  const DryRun outcome = quiet_dry_run();
  EXPECT_GT(outcome.step_seconds, 0.0);
  EXPECT_EQ(outcome.steps_per_epoch, 4);
  EXPECT_EQ(outcome.num_steps, 12);
  EXPECT_DOUBLE_EQ(outcome.epoch_train_seconds, 4 * outcome.step_seconds);
  EXPECT_DOUBLE_EQ(outcome.run_seconds.value(), 12 * outcome.step_seconds + 3 * outcome.epoch_valid_seconds.value());
  EXPECT_GT(outcome.memory.on_host, outcome.memory.least.weights);
  EXPECT_FALSE(outcome.memory.on_gpu);
  EXPECT_GT(outcome.memory.measured_peak.value_or(0), outcome.memory.least.weights);
  EXPECT_THAT(outcome.path, HasSubstr("oneDNN"));
}

TEST(DryRun, CountsAStepOfSeveralBatchesAndAPartOfAnEpoch) {
  const DryRun outcome =
      quiet_dry_run({"training.accumulate=2", "training.max_steps=3", "training.early_stopping=valid_loss"});
  EXPECT_EQ(outcome.batches_per_step, 2);
  EXPECT_EQ(outcome.steps_per_epoch, 2);
  EXPECT_EQ(outcome.num_steps, 3);
  EXPECT_TRUE(outcome.may_end_early);
  EXPECT_THAT(dry_run_text(outcome), HasSubstr(" of 2 batches of 50 "));
  EXPECT_THAT(dry_run_text(outcome), HasSubstr(" at most for 2 epochs\n"));
}

TEST(DryRun, EndsWithTheTimeThatBoundsTheRun) {
  const DryRun bounded = quiet_dry_run({"training.epochs=0", "training.max_seconds=90"});
  EXPECT_EQ(bounded.run_seconds, 90);
  EXPECT_THAT(dry_run_text(bounded), HasSubstr("run       1 min 30 s, "));
  const DryRun cut = quiet_dry_run({"training.epochs=100000000", "training.max_seconds=1"});
  EXPECT_EQ(cut.run_seconds, 1);
  EXPECT_THAT(dry_run_text(cut), HasSubstr("run       about 1 s "));
}

TEST(DryRun, TrainsWithoutValidationData) {
  const DryRun outcome = quiet_dry_run({"data.num_valid=0"});
  EXPECT_FALSE(outcome.epoch_valid_seconds);
  EXPECT_DOUBLE_EQ(outcome.run_seconds.value(), 12 * outcome.step_seconds);
  EXPECT_THAT(dry_run_text(outcome), Not(HasSubstr("validation")));
}

TEST(DryRun, FindsNaN) {
  const auto run = [] { quiet_dry_run({"training.optimizer=sgd", "training.learning_rate=1e38"}); };
  testing::message_of_error(ExitCode::kDiverged, run);
}

TEST(DryRun, SaysThatItsTimesAreEstimates) { expect_golden(dry_run_text(with_known_times(quiet_dry_run()))); }

TEST(DryRun, OfASweepDoesTheFirstCase) {
  Logger logger(Verbosity::kErrors, Terminal{});
  const auto cases = cases_of(std::string(kTinyYaml) + "repeats: 5\nsweep: {layer: [naive, fused, hoisted]}\n");
  DryRun outcome = dry_run_first(cases, {}, logger);
  EXPECT_EQ(outcome.layer, "naive");
  EXPECT_EQ(outcome.num_cases, 3);
  EXPECT_EQ(outcome.num_runs, 15);
  EXPECT_THAT(dry_run_text(outcome), HasSubstr(" 1 of 3 (layer=naive); 15 runs "));
  outcome.run_seconds = 60;
  EXPECT_THAT(dry_run_text(outcome), HasSubstr("\nsum       about 15 min 0 s "));
}

TEST(DryRun, OfSeveralProcessesIsRefused) {
  Logger logger(Verbosity::kErrors, Terminal{});
  const auto cases = cases_of(kTinyYaml, {"devices=4"});
  testing::expect_error(ExitCode::kUsage, [&] { dry_run_first(cases, {}, logger); });
}

}  // namespace
}  // namespace rnnlab
