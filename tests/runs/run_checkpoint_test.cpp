// SPDX-License-Identifier: Apache-2.0
#include "runs/run_checkpoint.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using testing::expect_error;
using ::testing::Field;
using testing::tiny_experiment;

// The newest checkpoint of a tiny run, and the result of resuming it after its state was changed.
class RunCheckpoint : public ::testing::Test {
 protected:
  RunCheckpoint() {
    Logger logger(Verbosity::kQuiet, Terminal{});
    const auto run = run_experiment(tiny_experiment(), {.out = out_.path(), .command_line = {}, .console = {}}, logger);
    newest_ = list_checkpoints(run.folder / kCheckpointsFolder).back().path;
    identity_ = run.summary.identity;
  }

  void expect_refused(const std::string& message, const std::function<void(nlohmann::ordered_json&)>& change) const {
    const Checkpoint saved = load_checkpoint(newest_);
    nlohmann::ordered_json state = saved.state;
    change(state);
    const fs::path other = save_checkpoint(out_.path() / "others", saved.step,
                                           {saved.model.tensors, saved.optimizer.tensors, state, nullptr});
    expect_error(ExitCode::kCheckpoint, (other / kStateFile).string() + ": " + message, [&] { read_saved_run(other); });
  }

  testing::TemporaryFolder out_;
  fs::path newest_;
  Identity identity_;
};

TEST_F(RunCheckpoint, HasTheRunAndItsProgress) {
  const SavedRun saved = read_saved_run(newest_);
  EXPECT_EQ(config::print(saved.facts.experiment, Experiment::schema()),
            config::print(tiny_experiment(), Experiment::schema()));
  EXPECT_EQ(saved.facts.identity.initial_weights_sha256, identity_.initial_weights_sha256);
  EXPECT_EQ(saved.facts.identity.data_fingerprint, identity_.data_fingerprint);
  EXPECT_EQ(saved.snapshot.progress.state.step, 12);
  EXPECT_EQ(saved.snapshot.progress.state.epoch, 3);
  EXPECT_TRUE(saved.snapshot.progress.epoch_is_over);
  EXPECT_FALSE(saved.snapshot.progress.state.stopped()) << "why it stopped is not part of where it was";
  EXPECT_THAT(saved.snapshot.model, Contains(Field(&NamedTensor::name, "recurrent.weight_ih_l0")));
  EXPECT_THAT(saved.snapshot.optimizer, Contains(Field(&NamedTensor::name, "recurrent.weight_ih_l0.exp_avg")));
  EXPECT_EQ(saved.snapshot.generators.count("cpu"), 1U);
}

TEST_F(RunCheckpoint, IsRefusedIfItsStateIsInvalid) {
  expect_refused(
      "schema_version is '7', expected 2 to 3: a different version of rnnlab wrote it; use that version, or train "
      "again",
      [](auto& state) { state["schema_version"] = 7; });
  expect_refused("progress.state.step is missing", [](auto& state) { state["progress"]["state"].erase("step"); });
  expect_refused("generators.cpu is not hexadecimal; the file is damaged",
                 [](auto& state) { state["generators"]["cpu"] = "0g"; });
  expect_refused("shape.task has the unknown value 'chess'", [](auto& state) { state["shape"]["task"] = "chess"; });
}

TEST_F(RunCheckpoint, IsRefusedIfItsExperimentIsInvalid) {
  const Checkpoint saved = load_checkpoint(newest_);
  auto state = saved.state;
  state["experiment"] = "seed: one\n";
  const fs::path other = save_checkpoint(out_.path() / "others", saved.step, {saved.model.tensors, {}, state, nullptr});
  try {
    read_saved_run(other);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kCheckpoint);
    expect_golden(error.what());
  }
}

TEST(RequireSameTensors, NamesTheFirstDifference) {
  const std::vector<NamedTensor> saved = {{"weight", at::zeros({2, 3})}};
  EXPECT_NO_THROW(require_same_tensors(saved, {{"weight", at::zeros({2, 3})}}, "a.safetensors"));
  for (const auto& wanted : {NamedTensor{"weight", at::zeros({3, 2})}, NamedTensor{"bias", at::zeros({2, 3})},
                             NamedTensor{"weight", at::zeros({2, 3}, at::kDouble)}}) {
    try {
      require_same_tensors(saved, {wanted}, "a.safetensors");
      ADD_FAILURE() << "expected an error";
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kCheckpoint);
      EXPECT_THAT(error.what(), ::testing::StartsWith("a.safetensors: "));
      EXPECT_THAT(error.what(), ::testing::HasSubstr(wanted.name));
    }
  }
}

}  // namespace
}  // namespace rnnlab
