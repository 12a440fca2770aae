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

TEST(CommandLine, HelpGoesToStdoutWithExamplesAndExitCodes) {
  const auto result = Program().run({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("Examples:"));
  EXPECT_THAT(result.output, HasSubstr("Exit codes: 0 done"));
  EXPECT_EQ(result.errors, "");
}

TEST(CommandLine, EveryVerbHasHelpWithTwoExamples) {
  const std::vector<std::vector<std::string>> verbs = {
      {"train"}, {"evaluate"},      {"predict"},       {"convert"},        {"export"},     {"compare"},
      {"bench"}, {"check"},         {"data"},          {"info"},           {"completion"}, {"data", "inspect"},
      {"sweep"}, {"sweep", "plan"}, {"sweep", "work"}, {"sweep", "status"}};
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

// Returns the program's message for an invalid command line, without the line about --help.
void expect_usage_error(const std::vector<std::string>& arguments, const std::string& message,
                        const std::string& verb) {
  const auto result = Program().run(arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "rnnlab: error: " + message + "\n  `rnnlab" + verb + " --help` shows how it is used\n");
}

TEST(CommandLine, HelpIsAVerbToo) {
  EXPECT_EQ(Program().run({"help"}).output, Program().run({"--help"}).output);
  EXPECT_EQ(Program().run({"help", "train"}).output, Program().run({"train", "--help"}).output);
  EXPECT_EQ(Program().run({"help", "data", "inspect"}).output, Program().run({"data", "inspect", "--help"}).output);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"help", "version"}, {"help", "help"}, {"version", "--help"}, {"version", "-h"}})
    EXPECT_EQ(Program().run(words).output, Program().run({"--help"}).output);
  const auto unknown = Program().run({"help", "trian"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("unknown verb 'trian' (did you mean 'train'?), expected train, "));
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
  EXPECT_THAT(Program().run_on_terminal({"--help"}, "xterm").output,
              HasSubstr("3 data, 4 device\nor environment, 5 diverged, 6 checkpoint unusable, 7 slower"));
}

TEST(CommandLine, HelpNamesArgumentsWithOneEllipsisEach) {
  EXPECT_THAT(Program().run({"train", "--help"}).output, HasSubstr("\n  arguments FILE... [key=value] ...\n"));
  EXPECT_THAT(Program().run({"compare", "--help"}).output, HasSubstr("\n  folders RUN ... REQUIRED "));
}

TEST(CommandLine, VersionIsOneLine) { EXPECT_EQ(Program().run({"--version"}).output, "rnnlab 0.2.0\n"); }

TEST(CommandLine, HelpListsAllExitCodes) {
  const auto result = Program().run({"--help"});
  EXPECT_THAT(result.output,
              HasSubstr("4 device or environment, 5 diverged,\n  6 checkpoint unusable, 7 slower than the benchmark"));
}

TEST(CommandLine, NoVerbIsAUsageError) {
  expect_usage_error({},
                     "no verb given, expected train, evaluate, predict, convert, export, compare, rank, bench, "
                     "report, sweep, check, data, info or completion",
                     "");
  expect_usage_error({"data"}, "data: no verb given, expected inspect", " data");
}

TEST(CommandLine, AnUnknownVerbSuggestsTheNearest) {
  expect_usage_error(
      {"trian", "a.yaml"},
      "unknown verb 'trian' (did you mean 'train'?), expected train, evaluate, predict, convert, export, "
      "compare, rank, bench, report, sweep, check, data, info or completion",
      "");
  expect_usage_error({"data", "inspct", "x"}, "unknown verb 'inspct' (did you mean 'inspect'?), expected inspect",
                     " data");
}

TEST(CommandLine, AnUnknownOptionSuggestsTheNearest) {
  expect_usage_error({"train", "a.yaml", "--quite"}, "unknown option '--quite' (did you mean '--quiet'?)", " train");
  expect_usage_error({"compare", "--jsn"}, "unknown option '--jsn' (did you mean '--json'?)", " compare");
  expect_usage_error({"-x"}, "unknown option '-x'", "");
}

TEST(CommandLine, AKeyHasNoDashes) {
  expect_usage_error({"train", "a.yaml", "--training.epochs=5"},
                     "unknown option '--training.epochs=5'; keys of an experiment have no dashes: "
                     "training.epochs=5",
                     " train");
  expect_usage_error({"train", "a.yaml", "--seed"},
                     "unknown option '--seed'; keys of an experiment have no dashes: seed=VALUE", " train");
}

TEST(CommandLine, AKeyWithoutItsEqualsSignIsNotAFile) {
  const auto errors = [](const std::vector<std::string>& arguments) { return Program().run(arguments).errors; };
  expect_golden(errors({"train", "a.yaml", "training.epochs", "5"}));
  expect_golden(errors({"check", "a.yaml", "training.epochs:", "5"}));
  expect_golden(errors({"check", "a.yaml", "seed", "=3"}));
  expect_golden(errors({"check", "a.yaml", "training.epochs = 3"}));
  expect_golden(errors({"bench", "hidden_size"}));
}

TEST(CommandLine, AValueThatTheShellCutIsGivenWhole) {
  const auto result = Program().run({"check", "a.yaml", "sweep={layer:", "[naive,", "fused]}", "seed=3"});
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
}

TEST(CommandLine, AnOptionFollowsItsVerb) {
  expect_usage_error({"--quiet", "train", "a.yaml"},
                     "--quiet is before the verb, expected after it: `rnnlab train --quiet`", " train");
}

TEST(CommandLine, AnAbsentArgumentOrValueIsNamed) {
  expect_usage_error({"compare"},
                     "compare: no argument given, expected run folders, folders full of them, or names of experiments",
                     " compare");
  expect_usage_error({"completion"}, "completion: no argument given, expected bash, zsh or fish", " completion");
  expect_usage_error({"train", "a.yaml", "--out"}, "--out: no value given, expected DIR", " train");
}

TEST(CommandLine, AnArgumentTooManyIsNamed) { expect_usage_error({"info", "a"}, "unexpected argument 'a'", " info"); }

TEST(CommandLine, AValueThatIsWrongIsShown) {
  expect_usage_error({"completion", "tcsh"}, "shell: got 'tcsh', expected bash, zsh or fish", " completion");
  expect_usage_error({"bench", "--against", "a.json", "--tolerance", "-3"},
                     "--tolerance: got '-3', expected a number of percent, at least 0", " bench");
}

TEST(CommandLine, OptionsThatDoNotFitTogetherAreNamed) {
  expect_usage_error({"compare", "a", "--json", "--csv"},
                     "--json and --csv cannot be used together: remove one of the two", " compare");
  expect_usage_error({"bench", "--tolerance", "3"},
                     "--tolerance works only with --against: add --against or remove --tolerance", " bench");
}

}  // namespace
}  // namespace rnnlab
