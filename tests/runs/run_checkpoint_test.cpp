// SPDX-License-Identifier: Apache-2.0
#include "runs/run_checkpoint.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "runs/resume.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using testing::expect_error;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::tiny_experiment;

// The newest checkpoint of a tiny run, and the result of resuming it after its state was changed.
class RunCheckpoint : public ::testing::Test {
 protected:
  RunCheckpoint() {
    const auto run = testing::run_quietly(tiny_experiment(), out_.path());
    newest_ = list_checkpoints(run.folder / kCheckpointsFolder).back().path;
    identity_ = run.summary.identity;
  }

  void expect_refused(const std::function<void(nlohmann::ordered_json&)>& change) const {
    const Checkpoint saved = load_checkpoint(newest_);
    nlohmann::ordered_json state = saved.state;
    change(state);
    const fs::path other = save_checkpoint(out_.path() / "others", saved.step,
                                           {saved.model.tensors, saved.optimizer.tensors, state, nullptr});
    expect_error(ExitCode::kCheckpoint, [&] { read_saved_run(other); });
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
  expect_refused([](auto& state) { state["schema_version"] = 7; });
  expect_refused([](auto& state) { state["progress"]["state"].erase("step"); });
  expect_refused([](auto& state) { state["generators"]["cpu"] = "0g"; });
  expect_refused([](auto& state) { state["shape"]["task"] = "chess"; });
  expect_refused([](auto& state) { state["experiment"] = "seed: one\n"; });
}

TEST(RequireSameTensors, NamesTheFirstDifference) {
  const std::vector<NamedTensor> saved = {{"weight", at::zeros({2, 3})}};
  EXPECT_NO_THROW(require_same_tensors(saved, {{"weight", at::zeros({2, 3})}}, "a.safetensors"));
  for (const auto& wanted : {NamedTensor{"weight", at::zeros({3, 2})}, NamedTensor{"bias", at::zeros({2, 3})},
                             NamedTensor{"weight", at::zeros({2, 3}, at::kDouble)}}) {
    const std::string message = testing::message_of_error(
        ExitCode::kCheckpoint, [&] { require_same_tensors(saved, {wanted}, "a.safetensors"); });
    EXPECT_THAT(message, ::testing::StartsWith("a.safetensors: "));
    EXPECT_THAT(message, HasSubstr(wanted.name));
  }
}

// Three epochs of four steps that have ended, whose checkpoint gets a state that no run has written.
class ForgedState : public ::testing::Test {
 protected:
  void SetUp() override {
    run_ = testing::run_quietly(tiny_experiment(), out_.path()).folder;
    checkpoint_ = latest_checkpoint(run_ / kCheckpointsFolder).place.value().path;
  }

  void forge(const std::string& pointer, const nlohmann::ordered_json& value) {
    Checkpoint checkpoint = load_checkpoint(checkpoint_);
    checkpoint.state[nlohmann::ordered_json::json_pointer(pointer)] = value;
    save_checkpoint(run_ / kCheckpointsFolder, checkpoint.step,
                    {checkpoint.model.tensors, checkpoint.optimizer.tensors, checkpoint.state, nullptr});
  }

  // Expects it with the key at `pointer` forged.
  void expect_not_resumed(const std::string& pointer, const nlohmann::ordered_json& value) {
    forge(pointer, value);
    const std::string rows = testing::read_text(run_ / kEpochsCsvFile);
    expect_error(ExitCode::kCheckpoint, [&] { resume_experiment(run_, {"training.epochs=5"}, request(), logger_); });
    EXPECT_EQ(testing::read_text(run_ / kEpochsCsvFile), rows);
    EXPECT_TRUE(fs::exists(run_ / kSummaryFile));
  }

  Summary resumed() { return resume_experiment(run_, {"training.epochs=5"}, request(), logger_).summary; }

  void expect_not_read(const std::string& pointer, const nlohmann::ordered_json& value) {
    forge(pointer, value);
    expect_error(ExitCode::kCheckpoint, [&] { read_saved_run(checkpoint_); });
  }

 private:
  RunRequest request() const { return {.out = out_.path(), .command_line = {"rnnlab"}}; }

  testing::TemporaryFolder out_;
  Logger logger_{Verbosity::kQuiet, Terminal{}};
  fs::path run_;
  fs::path checkpoint_;
};

TEST_F(ForgedState, WithImpossibleProgress) {
  expect_not_resumed("/progress/tally/steps", -1);
  expect_not_resumed("/progress/tally/steps", 9);
  forge("/progress/tally/steps", 4);
  expect_not_resumed("/progress/state/epoch", 0);
  expect_not_resumed("/progress/state/epoch", std::numeric_limits<int64_t>::max());
  forge("/progress/state/epoch", 3);
  expect_not_resumed("/progress/state/target_epoch", 4);
  forge("/progress/state/target_epoch", nullptr);
  expect_not_resumed("/progress/state/step", -5);
  forge("/progress/state/step", 12);
  expect_not_resumed("/progress/tally/seconds", "nan");
  expect_not_resumed("/progress/tally/seconds", -1.0);
  forge("/progress/tally/seconds", 1.0);
  expect_not_resumed("/progress/tally/samples", std::numeric_limits<int64_t>::max());
}

TEST_F(ForgedState, WithAnInvalidGenerator) { expect_not_resumed("/generators", nlohmann::ordered_json::object()); }

TEST_F(ForgedState, WithImpossibleFittedData) {
  expect_not_read("/shape/input_size", 0);
  forge("/shape/input_size", 28);
  expect_not_read("/vocabulary", {"one", "two"});
  forge("/vocabulary", nlohmann::ordered_json::array());
  expect_not_read("/shape/task", "language_model");
  forge("/shape/task", "classification");
  expect_not_read("/feature_scales", {{{"name", "x"}, {"offset", 0.0}, {"scale", 0.0}}});
  expect_not_read("/feature_scales", {{{"name", "x"}, {"offset", 0.0}, {"scale", 1.0}}});
}

TEST_F(ForgedState, WithSettingsThatNoRunHas) {
  expect_not_read("/experiment", "data: {source: csv, path: a.csv, target: [b], window: 9223372036854775807}\n");
}

// Different libraries or a different machine do not prevent this, but the bits may differ, and the times do.
TEST_F(ForgedState, OfADifferentMachineResumesWithAWarning) {
  forge("/software/libtorch", "2.0.1");
  forge("/identity/cpu_model", "Z80");
  const Summary summary = resumed();
  for (const char* change : {"LibTorch: 2.0.1, then 2.11.0", "CPU: Z80, then "})
    EXPECT_THAT(texts_of(summary.warnings), Contains(HasSubstr(change)));
  ASSERT_TRUE(summary.epoch_time);
  EXPECT_LE(summary.epoch_time->num_epochs, 2) << "the times of the first three are of another machine";
}

// Data of which another version reads a value differently need not have changed.
TEST_F(ForgedState, OfAnotherVersionThatReadOtherData) {
  forge("/software/rnnlab", "0.0.1");
  forge("/identity/data_fingerprint", std::string(64, '0'));
  const std::string message = testing::message_of_error(ExitCode::kCheckpoint, [&] { resumed(); });
  EXPECT_THAT(message, HasSubstr("than 0.0.1: their SHA-256 was 000000000000..."));
}

}  // namespace
}  // namespace rnnlab
