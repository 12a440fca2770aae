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
using testing::with;
using testing::Words;

const Words kCommand = {"train", "tiny.yaml", "--resume", "auto", "checkpoint.every_seconds=0"};

class TrainResumeAuto : public ::testing::Test {
 protected:
  std::string only_run() const { return "runs/tiny/" + folder_name(); }
  std::string folder_name() const {
    const auto runs = program_.run_folders("tiny");
    EXPECT_EQ(runs.size(), 1U);
    return std::filesystem::path(runs.at(0)).filename().string();
  }

  const Program program_{kTinyYaml};
};

TEST_F(TrainResumeAuto, StartsResumesAndSaysThatTheRunHasEnded) {
  const Words endless = with(kCommand, {"training.epochs=100000"});
  const auto has_checkpoint = [&] { return exists(program_.folder() / "runs/tiny/latest/checkpoints/best.json"); };
  const auto stopped = program_.run_and_signal(endless, SIGTERM, has_checkpoint);
  ASSERT_EQ(stopped.exit_code, 143) << stopped.errors;
  EXPECT_THAT(stopped.errors, StartsWith("starts a new run: "));

  const std::string log = testing::read_text(program_.folder() / only_run() / "epochs.csv");
  const std::string two_more = fmt::format("training.epochs={}", std::ranges::count(log, '\n') + 1);
  const auto resumed = program_.run(with(kCommand, {two_more}), 0);
  EXPECT_THAT(resumed.errors, StartsWith("resumes " + only_run() + ", "));
  EXPECT_THAT(resumed.output, HasSubstr("\n" + only_run() + "\n"));

  const auto ended = program_.run(with(kCommand, {two_more}), 0);
  EXPECT_THAT(ended.errors, StartsWith(only_run() + ": has ended "));
  EXPECT_THAT(ended.output, HasSubstr("\n" + only_run() + "\n"));
  EXPECT_EQ(program_.run(with(kCommand, {two_more, "--quiet"})).errors, "");
}

TEST_F(TrainResumeAuto, LooksInTheFolderOfNewRuns) {
  EXPECT_EQ(program_.run(with(kCommand, {"--out", "other"})).exit_code, 0);
  EXPECT_THAT(program_.run(with(kCommand, {"--out", "other"})).errors, StartsWith("other/tiny/"));
  EXPECT_THAT(program_.run(kCommand).errors, StartsWith("starts a new run: "));
}

TEST_F(TrainResumeAuto, IsNotAFolderCalledAuto) {
  ASSERT_EQ(program_.run({"train", "tiny.yaml", "-q"}).exit_code, 0);
  std::filesystem::rename(program_.folder() / only_run(), program_.folder() / "auto");
  const auto resumed = program_.run({"train", "--resume", "./auto", "training.epochs=4", "-q"}, 0);
  EXPECT_THAT(resumed.output, ::testing::EndsWith("/auto\n"));
  EXPECT_THAT(program_.run({"train", "--resume", "./auto"}).errors, HasSubstr("/auto: nothing to resume: "));
}

TEST_F(TrainResumeAuto, ResumesARunInOneOfTwoProcesses) {
  ASSERT_EQ(program_.run(with(kCommand, {"training.max_steps=1", "-q"})).exit_code, 0);
  for (const std::string devices : {"devices=1", "devices=2"}) {
    const auto result = program_.run_in_shell(
        "bash -c 'for i in 1 2; do \"$0\" train tiny.yaml --resume auto checkpoint.every_seconds=0 "
        "training.epochs=1000000 -q " +
        devices + " & done; wait -n; echo $?; kill $(jobs -p); wait' \"$0\"");
    EXPECT_THAT(result.output, StartsWith("75\n")) << devices << result.errors;
  }
}

TEST_F(TrainResumeAuto, TakesOneRun) {
  program_.expect_error(2, with(kCommand, {"sweep={layer: [naive, fused]}", "repeats=2"}));
  expect_golden(program_.run({"train", "--resume", "auto"}).errors);
}

TEST_F(TrainResumeAuto, ChoosesOnceForAllProcessesOfARun) {
  const auto result =
      program_.run_in_shell(testing::kEnvironmentOfTwo + "RANK=0 LOCAL_RANK=0 \"$0\" train tiny.yaml --resume auto", 2);
  expect_golden(result.errors);
}

TEST_F(TrainResumeAuto, ResumesARunOfTwoProcesses) {
  program_.run(with(kCommand, {"devices=2", "training.max_steps=5", "-q"}), 0);
  const auto resumed = program_.run(with(kCommand, {"devices=2"}), 0);
  EXPECT_THAT(resumed.errors, StartsWith("resumes " + only_run() + ", "));
  EXPECT_THAT(program_.run(with(kCommand, {"devices=2"})).errors, StartsWith(only_run() + ": has ended "));
}

}  // namespace
}  // namespace rnnlab
