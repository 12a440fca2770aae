// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/program.h"
#include "base/text.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::Program;
using testing::Words;

TEST(CommandLine, HelpGoesToStdoutWithExamplesAndExitCodes) {
  const auto result = Program().run({"--help"}, 0);
  EXPECT_THAT(result.output, HasSubstr("Examples:"));
  for (const char* code : {"Exit codes: 0 done", "4 device or environment", "7 slower"})
    EXPECT_THAT(result.output, HasSubstr(code));
  EXPECT_EQ(result.errors, "");
}

TEST(CommandLine, EveryVerbHasHelpWithTwoExamples) {
  const std::vector<Words> verbs = {{"train"},  {"evaluate"},      {"predict"},       {"convert"},
                                    {"export"}, {"compare"},       {"bench"},         {"check"},
                                    {"data"},   {"info"},          {"completion"},    {"data", "inspect"},
                                    {"sweep"},  {"sweep", "plan"}, {"sweep", "work"}, {"sweep", "status"}};
  for (auto arguments : verbs) {
    arguments.emplace_back("--help");
    const auto result = Program().run(arguments, 0);
    const size_t examples = result.output.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << arguments[0];
    const std::string after = result.output.substr(examples);
    EXPECT_GE(std::ranges::count(after, '\n'), 2) << after;
  }
}

TEST(CommandLine, HelpIsAVerbToo) {
  EXPECT_EQ(Program().run({"help"}).output, Program().run({"--help"}).output);
  EXPECT_EQ(Program().run({"help", "train"}).output, Program().run({"train", "--help"}).output);
  EXPECT_EQ(Program().run({"help", "data", "inspect"}).output, Program().run({"data", "inspect", "--help"}).output);
  for (const Words& words :
       std::vector<Words>{{"help", "version"}, {"help", "help"}, {"version", "--help"}, {"version", "-h"}})
    EXPECT_EQ(Program().run(words).output, Program().run({"--help"}).output);
  Program().expect_error(2, {"help", "trian"});
}

TEST(CommandLine, VersionIsAVerbToo) {
  EXPECT_EQ(Program().run({"version"}).exit_code, 0);
  EXPECT_EQ(Program().run({"version"}).output, Program().run({"--version"}).output);
}

TEST(CommandLine, HelpFitsTheTerminal) {
  if (!testing::has_pseudo_terminals()) GTEST_SKIP() << "no pseudo-terminals";
  const Program program;
  for (const std::string verb : {"train", "evaluate", "sweep", "data", "bench", "completion"}) {
    const std::string shown = program.run_on_terminal({verb, "--help"}, "xterm").output;
    for (const std::string& line : split(shown, '\n')) {
      if (line.starts_with("  rnnlab ") || line.starts_with("  source ")) continue;
      EXPECT_LE(display_width(line), 80u) << line;
    }
    const auto words = [](std::string text) {
      std::erase(text, ' ');
      std::erase(text, '\n');
      return text;
    };
    EXPECT_EQ(words(shown), words(program.run({verb, "--help"}).output)) << "only the ends of lines differ";
  }
}

TEST(CommandLine, HelpJoinsTheLinesOfAParagraph) {
  if (!testing::has_pseudo_terminals()) GTEST_SKIP() << "no pseudo-terminals";
  EXPECT_THAT(Program().run_on_terminal({"--help"}, "xterm").output, HasSubstr(" device\nor environment"));
}

TEST(CommandLine, HelpNamesArgumentsWithOneEllipsisEach) {
  EXPECT_THAT(Program().run({"train", "--help"}).output, HasSubstr("\n  arguments FILE... [key=value] ...\n"));
  EXPECT_THAT(Program().run({"compare", "--help"}).output, HasSubstr("\n  folders RUN ... REQUIRED "));
}

TEST(CommandLine, VersionIsOneLine) { EXPECT_EQ(Program().run({"--version"}).output, "rnnlab 0.2.0\n"); }

TEST(CommandLine, MistakesAreNamedWithWhatIsExpected) {
  for (const Words& arguments :
       std::vector<Words>{// Without a verb, or with an unknown verb or option.
                          {},
                          {"data"},
                          {"trian", "a.yaml"},
                          {"data", "inspct", "x"},
                          {"train", "a.yaml", "--quite"},
                          {"compare", "--jsn"},
                          {"-x"},
                          {"--quiet", "train", "a.yaml"},
                          // Keys of an experiment have no dashes, and an equals sign without spaces.
                          {"train", "a.yaml", "--training.epochs=5"},
                          {"train", "a.yaml", "--seed"},
                          {"train", "a.yaml", "training.epochs", "5"},
                          {"check", "a.yaml", "training.epochs:", "5"},
                          {"check", "a.yaml", "seed", "=3"},
                          {"check", "a.yaml", "training.epochs = 3"},
                          {"bench", "hidden_size"},
                          {"check", "a.yaml", "sweep={layer:", "[naive,", "fused]}", "seed=3"},
                          // Too few or too many arguments, and values that are absent or wrong.
                          {"compare"},
                          {"completion"},
                          {"info", "a"},
                          {"train", "a.yaml", "--out"},
                          {"completion", "tcsh"},
                          {"bench", "--against", "a.json", "--tolerance", "-3"},
                          // Options that do not fit together.
                          {"compare", "a", "--json", "--csv"},
                          {"bench", "--tolerance", "3"}})
    Program().expect_error(2, arguments);
}

}  // namespace
}  // namespace rnnlab
