// SPDX-License-Identifier: Apache-2.0
// A run by the fork server must not differ from a run that a shell starts, or the other tests would test something
// else.
#include "app/served_program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "app/program.h"

namespace rnnlab::testing {
namespace {

class ServedProgram : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef RNNLAB_FORK_SERVER
    GTEST_SKIP() << "sanitizers refuse the library of the fork server";
#endif
  }

  void expect_as_in_shell(const std::string& word, int exit_code) const {
    const auto process = start_served(served_.folder(), {RNNLAB_PROGRAM, word});
    ASSERT_TRUE(process.has_value());
    const int status = wait_for_served(*process).value();
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), exit_code);
    const ProgramResult wanted = in_shell_.run_in_shell("\"$0\" " + word, exit_code);
    EXPECT_EQ(read_text(served_.folder() / "stdout.txt"), wanted.output);
    EXPECT_EQ(read_text(served_.folder() / "stderr.txt"), wanted.errors);
  }

  Program served_, in_shell_;
};

TEST_F(ServedProgram, HasTheOutputAndExitCodeOfOneThatAShellStarts) {
  expect_as_in_shell("--version", 0);
  expect_as_in_shell("trian", 2);
}

TEST_F(ServedProgram, RefusesACommandWhileAnotherRuns) {
  const auto first = start_served(served_.folder(), {RNNLAB_PROGRAM, "--version"});
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(start_served(served_.folder(), {RNNLAB_PROGRAM, "--version"}).has_value());
  EXPECT_FALSE(wait_for_served(*first + 1).has_value());
  EXPECT_EQ(wait_for_served(*first), 0);
  EXPECT_TRUE(wait_for_served(start_served(served_.folder(), {RNNLAB_PROGRAM, "--version"}).value()).has_value());
}

TEST_F(ServedProgram, RefusesACommandInAnotherEnvironment) {
  ASSERT_TRUE(wait_for_served(start_served(served_.folder(), {RNNLAB_PROGRAM, "--version"}).value()).has_value());
  ::setenv("RNNLAB_OF_THIS_TEST", "1", 1);
  EXPECT_FALSE(start_served(served_.folder(), {RNNLAB_PROGRAM, "--version"}).has_value());
  ::unsetenv("RNNLAB_OF_THIS_TEST");
}

}  // namespace
}  // namespace rnnlab::testing
