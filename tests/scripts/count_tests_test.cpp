// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "scripts/script_box.h"

namespace rnnlab {
namespace {

class CountTests : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kPython)) GTEST_SKIP() << "no .venv: scripts/bootstrap has not run in this checkout";
  }

  void report(const std::string& program, const std::string& cases) {
    box.file("results/" + program + "_tests.json", R"({"testsuites": [{"testsuite": [)" + cases + "]}]}");
  }

  void ctest_ran(const std::string& entries) {
    box.file("results/ctest.xml", "<testsuite>" + entries + "</testsuite>");
  }

  ScriptResult count() { return box.run(std::string(kPython) + " scripts/count_tests.py results"); }

  static constexpr const char* kPython = RNNLAB_SOURCE_DIR "/.venv/bin/python";
  static constexpr const char* kPassed = R"({"status": "RUN", "result": "COMPLETED"})";
  static constexpr const char* kSkipped = R"({"status": "RUN", "result": "SKIPPED"})";
  static constexpr const char* kFailed = R"({"status": "RUN", "result": "COMPLETED", "failures": [{}]})";
  static constexpr const char* kDisabled = R"({"status": "NOTRUN", "result": "SUPPRESSED"})";

  ScriptBox box;
};

TEST_F(CountTests, AddsUpTheCasesOfAllPrograms) {
  report("base", std::string(kPassed) + "," + kPassed + "," + kDisabled);
  report("data", std::string(kPassed) + "," + kSkipped);
  ctest_ran(R"(<testcase name="base" status="run"/><testcase name="data" status="run"/>)");
  const ScriptResult result = count();
  EXPECT_EQ(result.output, "3 passed, 0 failed, 1 skipped\n");
  EXPECT_EQ(result.exit_code, 0);
}

TEST_F(CountTests, FailsWhenOneCaseFailed) {
  report("base", std::string(kPassed) + "," + kFailed);
  ctest_ran(R"(<testcase name="base" status="fail"/>)");
  const ScriptResult result = count();
  EXPECT_EQ(result.output, "1 passed, 1 failed, 0 skipped\n");
  EXPECT_EQ(result.exit_code, 1);
}

TEST_F(CountTests, CountsAProgramThatCrashedAsOneFailure) {
  report("base", kPassed);
  ctest_ran(R"(<testcase name="base" status="run"/><testcase name="data" status="fail"/>)");
  const ScriptResult result = count();
  EXPECT_EQ(result.output, "1 passed, 1 failed, 0 skipped\n");
  EXPECT_EQ(result.exit_code, 1);
}

TEST_F(CountTests, CountsAScriptThatSkippedItselfAsSkipped) {
  report("base", kPassed);
  ctest_ran(R"(<testcase name="base" status="run"/><testcase name="gpu_script" status="notrun">)"
            R"(<skipped message="SKIP_RETURN_CODE=77"/></testcase>)");
  const ScriptResult result = count();
  EXPECT_EQ(result.output, "1 passed, 0 failed, 1 skipped\n");
  EXPECT_EQ(result.exit_code, 0);
}

TEST_F(CountTests, CountsATestThatCouldNotStartAsOneFailure) {
  report("base", kPassed);
  ctest_ran(R"(<testcase name="base" status="run"/><testcase name="data" status="notrun">)"
            R"(<skipped message="Unable to find executable"/></testcase>)");
  const ScriptResult result = count();
  EXPECT_EQ(result.output, "1 passed, 1 failed, 0 skipped\n");
  EXPECT_EQ(result.exit_code, 1);
}

TEST_F(CountTests, FailsWhenNothingRan) {
  ctest_ran("");
  const ScriptResult result = count();
  EXPECT_EQ(result.output, "0 passed, 0 failed, 0 skipped\n");
  EXPECT_EQ(result.exit_code, 1);
}

}  // namespace
}  // namespace rnnlab
