// SPDX-License-Identifier: Apache-2.0
// Tests `build` of scripts/common.sh, with a CMake that only prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "golden.h"
#include "scripts/script_box.h"

namespace rnnlab {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Build : public ::testing::Test {
 protected:
  void write_cmake(const std::string& shell_text) const {
    box.file(".venv/bin/cmake", "#!/bin/bash\n" + shell_text + "\n");
    box.file("build/release/build.ninja", "");
    box.run("chmod +x .venv/bin/cmake");
  }

  // Builds as the scripts do.
  ScriptResult build(const std::string& options = "") const {
    return box.run("bash -c 'source scripts/common.sh; build release " + options + "'");
  }

  ScriptBox box;
};

TEST_F(Build, SaysHowManyStepsItHas) {
  write_cmake(R"([[ $* == *" -n -f "* ]] && printf '[%d/30] compile\n' {1..30} || echo "cmake $*")");
  const ScriptResult result = build("--target rnnlab -- -k 0");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, StartsWith("Building in 30 steps by "));
  EXPECT_THAT(result.output, Not(HasSubstr("the first build takes")));
  EXPECT_THAT(result.output, HasSubstr("\ncmake --build --preset release "));
  EXPECT_THAT(result.output, EndsWith(" --target rnnlab -- -k 0\n"));
  EXPECT_FALSE(box.exists("build/release/count-steps.ninja"));
}

TEST_F(Build, SaysHowLongAFirstBuildTakes) {
  write_cmake(R"([[ $* == *" -n -f "* ]] && printf '[%d/60] compile\n' {1..60} || echo built)");
  EXPECT_THAT(build().output, EndsWith(" minutes on two cores\nbuilt\n"));
}

TEST_F(Build, SaysNothingAboutAFewSteps) {
  write_cmake(R"([[ $* == *" -n -f "* ]] && echo '[1/1] link' || echo built)");
  EXPECT_EQ(build().output, "built\n");
}

TEST_F(Build, FailsAsItsCmakeFails) {
  write_cmake("exit 3");
  EXPECT_EQ(build("|| exit $?").exit_code, 3);
}

TEST_F(Build, WaitsForAnotherBuildInTheSameClone) {
  // The first build ends when the second one has said that it waits.
  write_cmake(R"(
[[ $* != *" -n -f "* ]] || exit 0
if [[ ! -e first ]]; then
  touch first
  until grep -q Waiting second.log; do :; done
fi
echo "built, $(grep -c built first.log) before")");
  box.file("first.log", "");
  box.file("second.log", "");
  const ScriptResult result = box.run(
      "bash -c 'cd \"$HOME\"; source scripts/common.sh; build release 2>first.log & until [[ -s build/.lock ]]; do :; "
      "done; build release 2>second.log; wait; cat first.log second.log'");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, StartsWith("built, 0 before\nWaiting "));
  EXPECT_THAT(result.output, EndsWith("\nbuilt, 1 before\n"));
}

// A first flock says that the lock is taken, once more after its time is over, and then that it is free.
TEST_F(Build, SaysNowAndThenThatItStillWaits) {
  write_cmake(R"([[ $* == *" -n -f "* ]] || echo built)");
  box.remove("bin/flock");
  box.command("flock", "echo >>\"$HOME/calls\"; (($(grep -c '' \"$HOME/calls\") > 2))");
  expect_golden(build().output);
  box.remove("calls");
  box.file("build/.lock", "1 (test)\n");
  expect_golden(build().output);
}

TEST_F(Build, ContinuesWhereNoLockCanBeTaken) {
  write_cmake(R"([[ $* == *" -n -f "* ]] || echo built)");
  box.remove("bin/flock");
  box.command("flock", "exit 65");
  expect_golden(build().output);
  box.remove("bin/flock");
  const ScriptResult result = build();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("(exit status 127): "));
}

TEST_F(Build, HoldsTheLockFromConfiguringUntilItHasBuilt) {
  write_cmake(R"([[ $* == *" -n -f "* ]] || echo "cmake $*")");
  box.remove("bin/flock");
  box.command("flock", "echo 'flock' >&2");
  const ScriptResult result = box.run(
      "RNNLAB_CUDA=OFF bash -c 'source scripts/common.sh; configure_and_build release -DA=1 -DB=2 -- --target rnnlab; "
      "cat "
      "build/configure-release.log'");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, StartsWith("flock\nConfiguring "));
  EXPECT_THAT(result.output, EndsWith(" -DRNNLAB_CUDA=OFF -DA=1 -DB=2\n"));
}

TEST_F(Build, DoesNotBuildWhatCannotBeConfigured) {
  write_cmake("echo \"cmake $*\"; [[ $* != *-DRNNLAB_CUDA* ]]");
  const ScriptResult result =
      box.run("RNNLAB_CUDA=OFF bash -c 'source scripts/common.sh; configure_and_build release'");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, Not(HasSubstr("--build")));
}

}  // namespace
}  // namespace rnnlab
