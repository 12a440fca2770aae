// SPDX-License-Identifier: Apache-2.0
// Tests `train FILE --resume auto`, one command that starts a run, resumes it, or says that it has ended.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "app/program.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::Program;
using ::testing::StartsWith;

const std::vector<std::string> kCommand = {"train", "tiny.yaml", "--resume", "auto", "checkpoint.every_seconds=0"};

std::vector<std::string> command_with(const std::vector<std::string>& more) {
  std::vector<std::string> command = kCommand;
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

class TrainResumeAuto : public ::testing::Test {
 protected:
  TrainResumeAuto() { program_.write("tiny.yaml", kTinyYaml); }
  std::string only_run() const { return "runs/tiny/" + folder_name(); }
  std::string folder_name() const {
    const auto runs = program_.run_folders("tiny");
    EXPECT_EQ(runs.size(), 1U);
    return std::filesystem::path(runs.at(0)).filename().string();
  }

  Program program_;
};

TEST_F(TrainResumeAuto, StartsResumesAndSaysThatTheRunHasEnded) {
  const std::vector<std::string> endless = command_with({"training.epochs=100000"});
  const auto has_checkpoint = [&] { return exists(program_.folder() / "runs/tiny/latest/checkpoints/best.json"); };
  const auto stopped = program_.run_and_signal(endless, SIGTERM, has_checkpoint);
  ASSERT_EQ(stopped.exit_code, 143) << stopped.errors;
  EXPECT_THAT(stopped.errors, StartsWith("starts a new run: there is no run in runs/tiny\n"));

  const std::string log = testing::read_text(program_.folder() / only_run() / "epochs.csv");
  const std::string two_more = fmt::format("training.epochs={}", std::ranges::count(log, '\n') + 1);
  const auto resumed = program_.run(command_with({two_more}));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, StartsWith("resumes " + only_run() + ", the newest run with these settings\n"));
  EXPECT_THAT(resumed.output, HasSubstr("\n" + only_run() + "\n"));

  const auto ended = program_.run(command_with({two_more}));
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, StartsWith(only_run() + ": has ended with these settings (the run reached "));
  EXPECT_THAT(ended.output, HasSubstr("\n" + only_run() + "\n"));
  EXPECT_EQ(program_.run(command_with({two_more, "--quiet"})).errors, "");
}

TEST_F(TrainResumeAuto, LooksInTheFolderOfNewRuns) {
  EXPECT_EQ(program_.run(command_with({"--out", "other"})).exit_code, 0);
  EXPECT_THAT(program_.run(command_with({"--out", "other"})).errors, StartsWith("other/tiny/"));
  EXPECT_THAT(program_.run(kCommand).errors, StartsWith("starts a new run: there is no run in runs/tiny\n"));
}

TEST_F(TrainResumeAuto, IsNotAFolderCalledAuto) {
  ASSERT_EQ(program_.run({"train", "tiny.yaml", "-q"}).exit_code, 0);
  std::filesystem::rename(program_.folder() / only_run(), program_.folder() / "auto");
  const auto resumed = program_.run({"train", "--resume", "./auto", "training.epochs=4", "-q"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, ::testing::EndsWith("/auto\n"));
  EXPECT_THAT(program_.run({"train", "--resume", "./auto"}).errors,
              HasSubstr("/auto: nothing to resume: the run reached training.epochs (4); to train on, add "
                        "training.epochs=N with N above 4\n"));
}

TEST_F(TrainResumeAuto, SaysThatTheRunIsBeingTrained) {
  EXPECT_EQ(program_.run(kCommand).exit_code, 0);
  const auto result = program_.run_in_shell("flock runs/tiny/latest/.lock \"$0\" train tiny.yaml --resume auto");
  EXPECT_EQ(result.exit_code, 75);
  expect_golden(result.errors);
}

TEST_F(TrainResumeAuto, ResumesARunInOneOfTwoProcesses) {
  ASSERT_EQ(program_.run(command_with({"training.max_steps=1", "-q"})).exit_code, 0);
  for (const std::string devices : {"devices=1", "devices=2"}) {
    const auto result = program_.run_in_shell(
        "bash -c 'for i in 1 2; do \"$0\" train tiny.yaml --resume auto checkpoint.every_seconds=0 "
        "training.epochs=1000000 -q " +
        devices + " & done; wait -n; echo $?; kill $(jobs -p); wait' \"$0\"");
    EXPECT_THAT(result.output, StartsWith("75\n")) << devices << result.errors;
  }
}

TEST_F(TrainResumeAuto, TakesOneRun) {
  const auto result = program_.run(command_with({"sweep={layer: [naive, fused]}", "repeats=2"}));
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
  expect_golden(program_.run({"train", "--resume", "auto"}).errors);
}

TEST_F(TrainResumeAuto, ChoosesOnceForAllProcessesOfARun) {
  const auto result =
      program_.run_in_shell(testing::kEnvironmentOfTwo + "RANK=0 LOCAL_RANK=0 \"$0\" train tiny.yaml --resume auto");
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
}

TEST_F(TrainResumeAuto, ResumesARunOfTwoProcesses) {
  const auto stopped = program_.run(command_with({"devices=2", "training.max_steps=5", "-q"}));
  ASSERT_EQ(stopped.exit_code, 0) << stopped.errors;
  const auto resumed = program_.run(command_with({"devices=2"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, StartsWith("resumes " + only_run() + ", the newest run with these settings\n"));
  EXPECT_THAT(program_.run(command_with({"devices=2"})).errors, StartsWith(only_run() + ": has ended "));
}

}  // namespace
}  // namespace rnnlab
