// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "scripts/script_box.h"

namespace rnnlab {
namespace {

// Two targets, and no compiler.
class FuzzScript : public ::testing::Test {
 protected:
  FuzzScript() {
    box.file("tests/fuzz/csv_fuzz.cpp", "");
    box.file("tests/fuzz/yaml_fuzz.cpp", "");
  }

  void expect_refused(const std::string& arguments, int exit_code) {
    const ScriptResult result = box.run("scripts/fuzz " + arguments);
    EXPECT_EQ(result.exit_code, exit_code);
    expect_golden(result.output);
  }

  ScriptBox box;
};

TEST_F(FuzzScript, RefusesMinutesThatAreNone) {
  for (const std::string minutes : {"0", "5m", "1.5", "1000000"}) expect_refused(minutes, 2);
}

TEST_F(FuzzScript, RefusesATargetThatIsNotThere) { expect_refused("5 csv text", 2); }

TEST_F(FuzzScript, SaysWhatBringsTheCompiler) { expect_refused("", 4); }

TEST_F(FuzzScript, TellsItsUse) {
  const ScriptResult result = box.run("scripts/fuzz --help");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, ::testing::HasSubstr("usage: scripts/fuzz [MINUTES] [NAME...]\n"));
}

}  // namespace
}  // namespace rnnlab
