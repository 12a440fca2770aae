// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "golden.h"
#include "runs/resume.h"
#include "runs/resumed_run.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using testing::cases_of;
using testing::exactly;
using testing::final_state;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::StopAtStep;

class ResumeSweep : public testing::ResumedRun {
 protected:
  static std::string sweep() { return kTinyYaml + std::string("sweep: {layer: [naive, fused], seed: [1, 2]}\n"); }

  fs::path sweep_file() const {
    fs::path file;
    for (const auto& entry : fs::directory_iterator(out()))
      if (entry.path().filename().string().starts_with("sweep-")) file = entry.path();
    return file;
  }
};

TEST_F(ResumeSweep, RunsTheStoppedRunAndTheRemainingRuns) {
  const auto whole = train(sweep(), exactly());
  ASSERT_EQ(whole.finished.size(), 4U);
  EXPECT_EQ(sweep_file(), "") << "is removed once every run has ended";

  StopAtStep stop(6, 2);
  const auto stopped = train(sweep(), exactly(), {&stop});
  EXPECT_EQ(stopped.exit_code, ExitCode::kTerminated);
  ASSERT_EQ(stopped.finished.size(), 2U);
  const auto all = resume(sweep_file());
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  ASSERT_EQ(all.finished.size(), 4U);
  EXPECT_EQ(sweep_file(), "");
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all.finished[i].summary.ending, RunEnding::kComplete);
    EXPECT_EQ(final_state(all.finished[i].folder), final_state(whole.finished[i].folder)) << "run " << i;
  }
}

TEST_F(ResumeSweep, RestartsARunThatWasKilledBeforeItsSettings) {
  StopAtStep stop(6, 2);
  const auto stopped = train(sweep(), exactly(), {&stop});
  for (const auto& entry : fs::directory_iterator(stopped.finished.at(1).folder)) fs::remove_all(entry.path());
  const auto all = resume(sweep_file());
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  EXPECT_EQ(all.finished.size(), 4U);
}

TEST_F(ResumeSweep, ReusesTheChoiceOfAuto) {
  const std::string seeds = kTinyYaml + std::string("sweep: {layer: [auto], seed: [1, 2]}\n");
  StopAtStep stop(6, 1);
  const auto stopped = train(seeds, exactly(), {&stop});
  const auto all = resume(sweep_file());
  ASSERT_EQ(all.finished.size(), 2U);
  for (const RunOutcome& run : all.finished) EXPECT_EQ(run.summary.layer, stopped.finished.at(0).summary.layer);
  EXPECT_THAT(all.finished[1].summary.path_notes,
              ::testing::Contains(::testing::EndsWith("as in an earlier run with the same work")));
}

TEST_F(ResumeSweep, ResumesAfterAMove) {
  const testing::TemporaryFolder elsewhere;
  StopAtStep stop(6, 2);
  const auto stopped = train(sweep(), exactly(), {&stop});
  for (const auto& entry : fs::directory_iterator(out()))
    fs::rename(entry.path(), elsewhere.path() / entry.path().filename());
  const fs::path first = elsewhere.path() / stopped.finished.at(0).folder.lexically_relative(out());
  const auto written = fs::last_write_time(first / kSummaryFile);
  fs::path moved;
  for (const auto& entry : fs::directory_iterator(elsewhere.path()))
    if (entry.is_regular_file()) moved = entry.path();
  const auto all = resume(moved);
  ASSERT_EQ(all.finished.size(), 4U);
  EXPECT_EQ(all.finished[0].folder, first);
  EXPECT_EQ(fs::last_write_time(first / kSummaryFile), written) << "is not trained again";
  EXPECT_EQ(run_folders_in(elsewhere.path() / "tiny").size(), 4U);
}

TEST_F(ResumeSweep, NamesAMissingRun) {
  StopAtStep stop(6, 2);
  const fs::path gone = train(sweep(), exactly(), {&stop}).finished.at(1).folder;
  fs::remove_all(gone);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(resume(sweep_file()).finished.size(), 4U);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr(gone.string() + ": the folder of this run is missing; the run starts from the beginning"));
}

TEST_F(ResumeSweep, RemembersTheOverridesOfEveryCommand) {
  StopAtStep stop(2), again(6, 2);
  train(sweep(), exactly(), {&stop});
  resume(sweep_file(), {"training.epochs=2"}, {&again});
  const auto all = resume(sweep_file());
  ASSERT_EQ(all.finished.size(), 4U);
  for (const RunOutcome& run : all.finished) expect_golden(run.summary.stop_reason);
}

TEST_F(ResumeSweep, RefusesOtherSettingsBeforeAnyRun) {
  StopAtStep stop(2);
  train(sweep(), exactly(), {&stop});
  testing::expect_error(ExitCode::kUsage, [&] { resume(sweep_file(), {"training.learning_rate=0.5"}); });
}

TEST_F(ResumeSweep, IsKeptWhileARunIsLeftUndone) {
  const auto all = train(kTinyYaml + std::string("sweep: {device: [cpu, 'cuda:99']}\n"), exactly());
  EXPECT_EQ(all.exit_code, ExitCode::kDevice);
  EXPECT_NE(sweep_file(), "");
}

TEST_F(ResumeSweep, LogsHowToResume) {
  StopAtStep stop(2);
  ::testing::internal::CaptureStderr();
  Logger logger(Verbosity::kNormal, Terminal{});
  run_all(cases_of(sweep(), exactly()), {.out = out(), .command_line = {}, .console = {}, .observers = {&stop}},
          logger);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("terminated (SIGTERM): 3 of 4 runs not started\n"));
  EXPECT_THAT(log, HasSubstr("to resume: rnnlab train --resume " + sweep_file().string() + "\n"));
}

}  // namespace
}  // namespace rnnlab
