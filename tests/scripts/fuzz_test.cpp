// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripts/script_box.h"

namespace rnnlab {
namespace {

// Two targets, and no compiler.
class FuzzScript : public testing::Test {
 protected:
  FuzzScript() {
    box.file("tests/fuzz/csv_fuzz.cpp", "");
    box.file("tests/fuzz/yaml_fuzz.cpp", "");
  }

  void expect_refused(const std::string& arguments, int exit_code, const std::string& message) {
    const ScriptResult result = box.run("scripts/fuzz " + arguments);
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_EQ(result.output, message);
  }

  ScriptBox box;
};

TEST_F(FuzzScript, RefusesMinutesThatAreNone) {
  for (const std::string minutes : {"0", "5m", "1.5", "1000000"})
    expect_refused(
        minutes, 2,
        "error: got '" + minutes + "' minutes, expected a whole number from 1 to 99999 (scripts/fuzz --help)\n");
}

TEST_F(FuzzScript, RefusesATargetThatIsNotThere) {
  expect_refused("5 csv text", 2, "error: there is no target 'text'; there are csv yaml (scripts/fuzz --help)\n");
}

TEST_F(FuzzScript, SaysWhatBringsTheCompiler) {
  expect_refused("", 4,
                 "error: there is no clang++-16 or newer on the PATH, which libFuzzer and its sanitizers come with\n"
                 "  apt-get update && apt-get install clang-16\n");
}

TEST_F(FuzzScript, TellsItsUse) {
  const ScriptResult result = box.run("scripts/fuzz --help");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, testing::HasSubstr("usage: scripts/fuzz [MINUTES] [NAME...]\n"));
}

}  // namespace
}  // namespace rnnlab
