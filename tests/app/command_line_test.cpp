#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::Program;

TEST(CommandLine, HelpGoesToStdoutWithExamplesAndExitCodes) {
  const auto result = Program().run({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("Examples:"));
  EXPECT_THAT(result.output, HasSubstr("Exit codes: 0 done"));
  EXPECT_EQ(result.errors, "");
}

TEST(CommandLine, EveryVerbHasHelpWithTwoExamples) {
  const std::vector<std::vector<std::string>> verbs = {{"train"},           {"compare"}, {"bench"},     {"check"},
                                                       {"data", "inspect"}, {"info"},    {"completion"}};
  for (auto arguments : verbs) {
    arguments.emplace_back("--help");
    const auto result = Program().run(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments[0];
    const size_t examples = result.output.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << arguments[0];
    const std::string after = result.output.substr(examples);
    EXPECT_GE(std::ranges::count(after, '\n'), 2) << after;
  }
}

TEST(CommandLine, VersionIsOneLine) { EXPECT_EQ(Program().run({"--version"}).output, "rnnlab 0.1.0\n"); }

TEST(CommandLine, NoVerbIsAUsageError) {
  const auto result = Program().run({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "rnnlab: error: A subcommand is required\n  `rnnlab --help` shows how it is used\n");
}

TEST(CommandLine, AnUnknownVerbSuggestsTheNearest) {
  const auto result = Program().run({"trian", "a.yaml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(
      result.errors,
      "rnnlab: error: unknown verb 'trian' (did you mean 'train'?); known are train, compare, bench, check, data, "
      "info or completion\n  `rnnlab --help` shows how it is used\n");
}

TEST(CommandLine, AnUnknownOptionSuggestsTheNearest) {
  const auto result = Program().run({"train", "a.yaml", "--quite"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors,
            "rnnlab: error: unknown option '--quite' (did you mean '--quiet'?)\n"
            "  `rnnlab train --help` shows how it is used\n");
}

}  // namespace
}  // namespace rnnlab
