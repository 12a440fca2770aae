#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kTinyYaml;
using testing::Program;

constexpr const char* kFull =
    "rnnlab: error: standard output: No space left on device; what was printed is not complete: free some space or "
    "send "
    "it elsewhere\n";

TEST(Output, AFullDiskIsSaid) {
  for (const char* arguments : {"info", "info --json", "check --markdown", "bench --schema", "completion bash",
                                "--help", "train --help", "--version"}) {
    const auto result = Program().run_in_shell(std::string("\"$0\" ") + arguments + " > /dev/full");
    EXPECT_EQ(result.exit_code, 4) << arguments;
    EXPECT_EQ(result.errors, kFull) << arguments;
  }
}

TEST(Output, AResultThatCouldNotBePrintedIsNoSuccess) {
  const Program program;
  program.write("tiny.yaml", kTinyYaml);
  const auto result = program.run_in_shell("\"$0\" train tiny.yaml -q > /dev/full");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, HasSubstr(kFull));
}

TEST(Output, AClosedStdoutIsSaid) {
  const auto result = Program().run_in_shell("\"$0\" --version >&-");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, HasSubstr("standard output: Bad file descriptor; "));
}

TEST(Output, AnErrorThatCannotBeShownKeepsItsExitCode) {
  EXPECT_EQ(Program().run_in_shell("\"$0\" trian 2>&-").exit_code, 2);
  EXPECT_EQ(Program().run_in_shell("\"$0\" trian 2> /dev/full").exit_code, 2);
}

TEST(Output, WithoutStderrTheLogIsWrittenIntoNoOtherFile) {
  const Program program;
  program.write("tiny.yaml", kTinyYaml);
  const auto result = program.run_in_shell("\"$0\" train tiny.yaml 2>&-");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.errors, IsEmpty());
  const auto folders = program.run_folders("tiny");
  ASSERT_EQ(folders.size(), 1u);
  EXPECT_EQ(program.run({"compare", folders.front()}).exit_code, 0) << "every record can be read";
}

}  // namespace
}  // namespace rnnlab
