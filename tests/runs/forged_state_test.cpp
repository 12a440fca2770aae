// SPDX-License-Identifier: Apache-2.0
// Tests checkpoints with valid checksums whose state no run of this program has written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "runs/resume.h"
#include "runs/run_checkpoint.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::tiny_experiment;

// Three epochs of four steps that have ended.
class ForgedState : public ::testing::Test {
 protected:
  void SetUp() override {
    run_ = run_experiment(tiny_experiment(), request(), logger_).folder;
    logger_.close_file();
    checkpoint_ = latest_checkpoint(run_ / kCheckpointsFolder).place.value().path;
  }

  void forge(const std::string& pointer, const nlohmann::ordered_json& value) {
    Checkpoint checkpoint = load_checkpoint(checkpoint_);
    checkpoint.state[nlohmann::ordered_json::json_pointer(pointer)] = value;
    save_checkpoint(run_ / kCheckpointsFolder, checkpoint.step,
                    {checkpoint.model.tensors, checkpoint.optimizer.tensors, checkpoint.state, nullptr});
  }

  void expect_not_resumed(const std::string& message) {
    const std::string rows = read_text(run_ / kEpochsCsvFile);
    expect_error(ExitCode::kCheckpoint, (checkpoint_ / kStateFile).string() + ": " + message,
                 [&] { resume_experiment(run_, {"training.epochs=5"}, request(), logger_); });
    EXPECT_EQ(read_text(run_ / kEpochsCsvFile), rows);
    EXPECT_TRUE(fs::exists(run_ / kSummaryFile));
  }

  std::string file() const { return (checkpoint_ / kStateFile).string(); }

  Summary resumed() { return resume_experiment(run_, {"training.epochs=5"}, request(), logger_).summary; }

  void expect_not_read(const std::string& message) {
    expect_error(ExitCode::kCheckpoint, (checkpoint_ / kStateFile).string() + ": " + message,
                 [&] { read_saved_run(checkpoint_); });
  }

 private:
  RunRequest request() const { return {.out = out_.path(), .command_line = {"rnnlab"}, .console = {}}; }

  TemporaryFolder out_;
  Logger logger_{Verbosity::kQuiet, Terminal{}};
  fs::path run_;
  fs::path checkpoint_;
};

TEST_F(ForgedState, WithStepsThatTheEpochDoesNotHave) {
  forge("/progress/tally/steps", -1);
  expect_not_resumed("its progress is impossible: -1 of 4 steps of an epoch that is over");
  forge("/progress/tally/steps", 9);
  expect_not_resumed("its progress is impossible: 9 of 4 steps of an epoch that is over");
}

TEST_F(ForgedState, WithAnEpochThatDoesNotFitItsSteps) {
  forge("/progress/state/epoch", 0);
  expect_not_resumed("its progress is impossible: epoch 0, but the best epoch is 3");
  forge("/progress/state/epoch", std::numeric_limits<int64_t>::max());
  expect_not_resumed("its progress is impossible: step 12 after 4 of 4 steps of epoch 9223372036854775807");
  forge("/progress/state/epoch", 3);
  forge("/progress/state/target_epoch", 4);
  expect_not_resumed("its progress is impossible: epoch 3, but epoch 4 reached the target");
  forge("/progress/state/target_epoch", nullptr);
  forge("/progress/state/step", -5);
  expect_not_resumed("its progress is impossible: step -5 after 4 of 4 steps of epoch 3");
}

TEST_F(ForgedState, WithInvalidNumbers) {
  forge("/progress/tally/seconds", "nan");
  expect_not_resumed("its progress is impossible: a number is not finite");
  forge("/progress/tally/seconds", -1.0);
  expect_not_resumed("its progress is impossible: a count or a time is negative or too large");
  forge("/progress/tally/seconds", 1.0);
  forge("/progress/tally/samples", std::numeric_limits<int64_t>::max());
  expect_not_resumed("its progress is impossible: a count or a time is negative or too large");
}

TEST_F(ForgedState, WithAnInvalidGenerator) {
  forge("/generators", nlohmann::ordered_json::object());
  expect_not_resumed("the state of the cpu generator is missing");
}

TEST_F(ForgedState, WithImpossibleFittedData) {
  forge("/shape/input_size", 0);
  expect_not_read("its description of the data is impossible: 28 steps of 0 features and 10 outputs");
  forge("/shape/input_size", 28);
  forge("/vocabulary", {"one", "two"});
  expect_not_read("its description of the data is impossible: 2 names of 10 outputs");
  forge("/vocabulary", nlohmann::ordered_json::array());
  forge("/shape/task", "language_model");
  expect_not_read("its description of the data is impossible: a task language_model of source digits");
  forge("/shape/task", "classification");
  forge("/feature_scales", {{{"name", "x"}, {"offset", 0.0}, {"scale", 0.0}}});
  expect_not_read("its description of the data is impossible: a scale that is zero or not finite");
  forge("/feature_scales", {{{"name", "x"}, {"offset", 0.0}, {"scale", 1.0}}});
  expect_not_read("its description of the data is impossible: 1 scale for 28 features");
}

TEST_F(ForgedState, WithSettingsThatNoRunHas) {
  forge("/experiment", "data: {source: csv, path: a.csv, target: [b], window: 9223372036854775807}\n");
  expect_not_read("its experiment is not valid: " + file() +
                  ":1:55: data.window: got '9223372036854775807', expected an integer, at least 0 and at most "
                  "1000000000");
}

// Different libraries or a different machine do not prevent this, but the bits may differ, and the times do.
TEST_F(ForgedState, OfADifferentMachineResumesWithAWarning) {
  forge("/software/libtorch", "2.0.1");
  forge("/identity/cpu_model", "Z80");
  const Summary summary = resumed();
  const auto warned = [](const std::string& begin) { return Contains(StartsWith(begin)); };
  EXPECT_THAT(texts_of(summary.warnings), warned("resumes with a different LibTorch: 2.0.1, then 2.11.0"));
  EXPECT_THAT(texts_of(summary.warnings), warned("resumes with a different CPU: Z80, then "));
  ASSERT_TRUE(summary.epoch_time);
  EXPECT_LE(summary.epoch_time->num_epochs, 2) << "the times of the first three are of another machine";
}

// Data of which another version reads a value differently need not have changed.
TEST_F(ForgedState, OfAnotherVersionThatReadOtherData) {
  forge("/software/rnnlab", "0.0.1");
  forge("/identity/data_fingerprint", std::string(64, '0'));
  try {
    resumed();
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kCheckpoint);
    EXPECT_THAT(error.what(), HasSubstr("reads them in a different way than 0.0.1: their SHA-256 was 000000000000..."));
    EXPECT_THAT(error.what(), HasSubstr("; start a new run"));
  }
}

}  // namespace
}  // namespace rnnlab
