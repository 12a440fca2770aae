// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "golden.h"
#include "scripts/script_box.h"

namespace rnnlab {
namespace {

class CountTests : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kPython)) GTEST_SKIP() << "no .venv: scripts/bootstrap has not run in this checkout";
  }

  void report(const std::string& program, const std::string& cases) {
    box.file("results/" + program + "_tests.xml", "<testsuites><testsuite>" + cases + "</testsuite></testsuites>");
  }

  void ctest_ran(const std::string& entries) {
    box.file("results/ctest.xml", "<testsuite>" + entries + "</testsuite>");
  }

  // Expects this exit code and the sum of golden.txt.
  void expect_sum(int exit_code) {
    const ScriptResult result = box.run(std::string(kPython) + " scripts/count_tests.py results");
    EXPECT_EQ(result.exit_code, exit_code);
    expect_golden(result.output);
  }

  static constexpr const char* kPython = RNNLAB_SOURCE_DIR "/.venv/bin/python";
  static constexpr const char* kPassed = R"(<testcase status="run" result="completed"/>)";
  static constexpr const char* kSkipped =
      R"(<testcase status="run" result="skipped"><skipped message="a_test.cpp:7&#x0A;no GPU&#x0A;"/></testcase>)";
  static constexpr const char* kFailed =
      R"(<testcase status="run" result="completed"><failure message="a_test.cpp:8"/></testcase>)";
  static constexpr const char* kDisabled = R"(<testcase status="notrun" result="suppressed"/>)";

  ScriptBox box;
};

TEST_F(CountTests, AddsUpTheCasesOfAllPrograms) {
  report("base", std::string(kPassed) + kPassed + kDisabled);
  report("data", std::string(kPassed) + kSkipped);
  ctest_ran(R"(<testcase name="base" status="run"/><testcase name="data" status="run"/>)");
  expect_sum(0);
}

TEST_F(CountTests, FailsWhenOneCaseFailed) {
  report("base", std::string(kPassed) + kFailed);
  ctest_ran(R"(<testcase name="base" status="fail"/>)");
  expect_sum(1);
}

TEST_F(CountTests, CountsAProgramThatCrashedAsOneFailure) {
  report("base", kPassed);
  ctest_ran(R"(<testcase name="base" status="run"/><testcase name="data" status="fail"/>)");
  expect_sum(1);
}

TEST_F(CountTests, CountsAScriptThatSkippedItselfAsSkipped) {
  report("base", kPassed);
  ctest_ran(R"(<testcase name="base" status="run"/><testcase name="gpu_script" status="notrun">)"
            R"(<skipped message="SKIP_RETURN_CODE=77"/><system-out>a line
skipped, because there is no GPU
</system-out></testcase>)");
  expect_sum(0);
}

TEST_F(CountTests, NamesEachReasonOnceWithAllTestsThatHaveIt) {
  report("base", std::string(kSkipped) + kSkipped);
  report("data", kSkipped);
  ctest_ran(R"(<testcase name="base" status="run"/><testcase name="data" status="run"/>)"
            R"(<testcase name="silent" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>)");
  expect_sum(0);
}

TEST_F(CountTests, CountsTheCasesThatUnittestSkippedInATestThatPassed) {
  ctest_ran(R"(<testcase name="man_page" status="run"><system-out>test_a (Test.test_a) ... ok
test_b (Test.test_b) ... skipped 'groff is not installed'

OK (skipped=1)
</system-out></testcase><testcase name="quiet" status="run"><system-out>.s
OK (skipped=1)
</system-out></testcase>)");
  expect_sum(0);
}

TEST_F(CountTests, CountsATestThatCouldNotStartAsOneFailure) {
  report("base", kPassed);
  ctest_ran(R"(<testcase name="base" status="run"/><testcase name="data" status="notrun">)"
            R"(<skipped message="Unable to find executable"/></testcase>)");
  expect_sum(1);
}

TEST_F(CountTests, FailsWhenNothingRan) {
  ctest_ran("");
  expect_sum(1);
}

}  // namespace
}  // namespace rnnlab
