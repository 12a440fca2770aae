// SPDX-License-Identifier: Apache-2.0
#include "runs/child_process.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "train/loop/stop_signal.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;
using Strings = std::vector<std::string>;

struct Ended {
  ExitCode exit_code;
  Strings lines;
};

Ended run_shell(const std::string& command) {
  Strings lines;
  const ExitCode code = run_child("/bin/sh", {"-c", command}, [&](const std::string& line) { lines.push_back(line); });
  return {code, lines};
}

TEST(ChildProcess, GivesItsLinesAndItsExitCode) {
  const Ended ended = run_shell("echo one; echo two; exit 5");
  EXPECT_EQ(ended.exit_code, ExitCode::kDiverged);
  EXPECT_THAT(ended.lines, ElementsAre("one", "two"));
}

TEST(ChildProcess, GivesALineWhileItRuns) {
  Strings lines;
  const auto on_line = [&](const std::string& line) {
    lines.push_back(line);
    if (lines.size() == 1) ::kill(std::stoi(line), SIGTERM);  // it waits for this
  };
  EXPECT_EQ(run_child("/bin/sh", {"-c", "trap 'exit 0' TERM; echo $$; while :; do sleep 0.05; done"}, on_line),
            ExitCode::kDone);
}

TEST(ChildProcess, ReadsNothingFromStdin) { EXPECT_EQ(run_shell("read line").exit_code, ExitCode::kInternal); }

TEST(ChildProcess, ThatASignalEndsIsAnError) {
  expect_error(ExitCode::kDevice, [] { run_shell("kill -9 $$"); });
}

TEST(ChildProcess, ThatCannotBeStartedIsAnError) {
  expect_error(ExitCode::kDevice, [] { run_child("/no/such/program", {}, [](const std::string&) {}); });
}

TEST(ChildProcess, GetsTheSignalThatAsksThisOneToStop) {
  const StopSignalGuard guard;
  Strings lines;
  const auto on_line = [&](const std::string& line) {
    lines.push_back(line);
    if (lines.size() == 1) ::raise(SIGTERM);
  };
  const ExitCode code = run_child(
      "/bin/sh", {"-c", "trap 'echo stopped; exit 3' TERM; echo ready; while :; do sleep 0.05; done"}, on_line);
  EXPECT_EQ(code, ExitCode::kData);
  EXPECT_THAT(lines, ElementsAre("ready", "stopped"));
}

TEST(ChildProcess, IsKilledOnceItMustEnd) {
  bool has_begun = false;
  const auto run = [&] {
    run_child(
        "/bin/sh", {"-c", "echo ready; while :; do sleep 0.05; done"}, [&](const std::string&) { has_begun = true; },
        [&] { return has_begun; });
  };
  expect_error(ExitCode::kDevice, run);
}

TEST(ChildProcesses, RunAtOneTime) {
  Strings lines;
  // Each waits for the other's file.
  const std::string script = "cd $0; touch $1; until [ -e $2 ]; do sleep 0.01; done; echo $1; exit $3";
  const TemporaryFolder folder;
  const auto codes = run_children("/bin/sh",
                                  {{{"-c", script, folder.path().string(), "a", "b", "0"}},
                                   {{"-c", script, folder.path().string(), "b", "a", "5"}}},
                                  [&](const std::string& line) { lines.push_back(line); });
  EXPECT_THAT(codes, ElementsAre(ExitCode::kDone, ExitCode::kDiverged));
  EXPECT_THAT(lines, ::testing::UnorderedElementsAre("a", "b"));
}

TEST(ChildProcesses, OutliveOneThatASignalEnds) {
  Strings lines;
  const auto codes = run_children("/bin/sh", {{{"-c", "kill -9 $$"}}, {{"-c", "sleep 0.1; echo done"}}},
                                  [&](const std::string& line) { lines.push_back(line); });
  EXPECT_THAT(codes, ElementsAre(ExitCode::kDevice, ExitCode::kDone));
  EXPECT_THAT(lines, ElementsAre("done"));
}

// Each process gets its rank.
TEST(ChildProcesses, HaveVariablesOfTheirOwn) {
  Strings lines;
  run_children("/bin/sh", {{{"-c", "echo $WHICH"}, {"WHICH=first"}}, {{"-c", "echo $WHICH"}, {"WHICH=second"}}},
               [&](const std::string& line) { lines.push_back(line); });
  EXPECT_THAT(lines, ::testing::UnorderedElementsAre("first", "second"));
}

TEST(ChildProcesses, EndTogetherWhereOneFails) {
  std::vector<std::string> told;
  const auto on_failure = [&](size_t index, ExitCode code, const std::string& text) {
    told.push_back(fmt::format("{} {} {}", index, static_cast<int>(code), text));
  };
  const EndOfChildren end = run_together(
      "/bin/sh", {{{"-c", "exec sleep 1000"}}, {{"-c", "sleep 0.1; exit 3"}}}, [](const std::string&) {}, on_failure);
  EXPECT_EQ(end.exit_code, ExitCode::kData);
  EXPECT_EQ(end.reason, "");
  EXPECT_THAT(told, ElementsAre("1 3 "));
}

TEST(ChildProcesses, HaveAReasonIfSignalsEndedAllOfThem) {
  const EndOfChildren end = run_together(
      "/bin/sh", {{{"-c", "kill -9 $$"}}, {{"-c", "exec sleep 1000"}}}, [](const std::string&) {},
      [](size_t, ExitCode, const std::string&) {});
  EXPECT_EQ(end.exit_code, ExitCode::kDevice);
  expect_golden(end.reason);
}

TEST(ChildProcess, ThatTheSignalOfThisOneEndsWasStopped) {
  const StopSignalGuard guard;
  ::raise(SIGTERM);
  EXPECT_EQ(run_shell("exec sleep 1000").exit_code, exit_code_of_signal(SIGTERM));
}

TEST(ChildProcess, IsEndedWhereItsLinesCannotBeTaken) {
  const auto refuse = [](const std::string&) { throw UserError(ExitCode::kDevice, "no space"); };
  expect_error(ExitCode::kDevice, "no space", [&] { run_child("/bin/sh", {"-c", "echo a; exec sleep 1000"}, refuse); });
}

}  // namespace
}  // namespace rnnlab::testing
