#include "experiment/child_process.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "results/expect_error.h"
#include "training/stop_signal.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
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
  expect_error(ExitCode::kDevice, "the process of this run was ended by signal 9 (Killed)",
               [] { run_shell("kill -9 $$"); });
}

TEST(ChildProcess, ThatCannotBeStartedIsAnError) {
  expect_error(ExitCode::kDevice, "a process for this run cannot be started: No such file or directory",
               [] { run_child("/no/such/program", {}, [](const std::string&) {}); });
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

TEST(ChildProcess, ThatTheSignalOfThisOneEndsWasStopped) {
  const StopSignalGuard guard;
  ::raise(SIGTERM);
  EXPECT_EQ(run_shell("exec sleep 1000").exit_code, exit_code_of_signal(SIGTERM));
}

TEST(ChildProcess, IsEndedWhereItsLinesCannotBeTaken) {
  const auto refuse = [](const std::string&) { throw UserError(ExitCode::kDevice, "no space"); };
  expect_error(ExitCode::kDevice, "no space", [&] { run_child("/bin/sh", {"-c", "echo a; sleep 1000"}, refuse); });
}

}  // namespace
}  // namespace rnnlab::testing
