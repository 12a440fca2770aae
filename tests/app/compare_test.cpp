// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/program.h"
#include "base/text.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::Program;

// Two runs of the tiny experiment that differ in `override`.
class Compare : public ::testing::Test {
 protected:
  std::vector<std::string> two_runs(const std::string& override) {
    program_.write("tiny.yaml", kTinyYaml);
    EXPECT_EQ(program_.run({"train", "tiny.yaml"}).exit_code, 0);
    EXPECT_EQ(program_.run({"train", "tiny.yaml", override}).exit_code, 0);
    return program_.run_folders("tiny");
  }
  testing::ProgramResult compare(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    return program_.run(arguments);
  }
  Program program_;
};

TEST_F(Compare, SetsLayersAgainstEachOther) {
  const auto folders = two_runs("layer=naive");
  const auto result = compare({folders[0], folders[1]});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("cpu fused"));
  EXPECT_THAT(result.output, HasSubstr("cpu naive"));
}

void expect_width(const std::string& table, size_t width) {
  for (const std::string& line : split(table, '\n')) EXPECT_LE(display_width(line), width) << line;
}

TEST_F(Compare, FitsTheTerminal) {
  if (!testing::has_pseudo_terminals()) GTEST_SKIP() << "no pseudo-terminals";
  two_runs("layer=naive");
  EXPECT_THAT(compare({"tiny"}).output, HasSubstr("run        seeds  processes  epochs "));
  const std::string shown = program_.run_on_terminal({"compare", "tiny"}, "xterm").output;
  EXPECT_THAT(shown, HasSubstr("\nin each row: seeds 1, processes 1, epochs 2\n"));
  const size_t tables = shown.find("run   ");
  expect_width(shown.substr(tables, shown.find("in each row") - tables), 80);
}

TEST_F(Compare, RanksFitTheTerminal) {
  if (!testing::has_pseudo_terminals()) GTEST_SKIP() << "no pseudo-terminals";
  two_runs("layer=naive");
  EXPECT_THAT(program_.run({"rank", "tiny"}).output, Not(HasSubstr("left out")));
  const std::string shown = program_.run_on_terminal({"rank", "tiny"}, "xterm", 40).output;
  EXPECT_THAT(shown, HasSubstr("valid acc"));
  EXPECT_THAT(shown, HasSubstr("\nleft out, because the terminal is narrow: "));
  const size_t table = shown.find("#  run ");
  expect_width(shown.substr(table, shown.find("left out") - table), 40);
}

TEST_F(Compare, CountsARunThatIsNamedTwiceOnce) {
  const auto folders = two_runs("layer=naive");
  EXPECT_EQ(compare({folders[0], folders[1], folders[0] + "/."}).output, compare({folders[0], folders[1]}).output);
}

TEST_F(Compare, TakesAFolderOfRunsForAllThatHaveEnded) {
  const auto folders = two_runs("layer=naive");
  program_.write("runs/tiny/unfinished/epochs.csv", "");
  const auto result = compare({"runs/tiny"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, compare({folders[0], folders[1]}).output);
  expect_golden(result.errors);
}

// Runs of one second have folders that sort by layer, which is not the sweep's order.
TEST_F(Compare, MeasuresByTheSweepsFirstRunAsTrainDoes) {
  program_.write("tiny.yaml", kTinyYaml);
  const std::string trained = program_.run({"train", "tiny.yaml", "sweep={layer: [naive, fused]}"}).output;
  EXPECT_EQ(compare({"runs/tiny"}).output, trained);
  const auto folders = program_.run_folders("tiny");  // sorted, as by a pattern
  EXPECT_EQ(compare({folders[0], folders[1]}).output, trained);
}

TEST_F(Compare, GivesAVerdictAfterFiveRounds) {
  program_.write("tiny.yaml", kTinyYaml);
  const auto trained = program_.run({"train", "tiny.yaml", "sweep={layer: [naive, fused]}", "repeats=5"});
  ASSERT_EQ(trained.exit_code, 0) << trained.errors;
  EXPECT_THAT(trained.output, Not(HasSubstr("no verdict")));
  const auto compared = compare({"runs/tiny", "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.errors;
  const auto fused = nlohmann::json::parse(compared.output)["groups"][1];
  EXPECT_EQ(fused["label"], "cpu fused");
  EXPECT_EQ(fused["num_processes"], 5);
  EXPECT_EQ(fused["is_paired"], true);
  EXPECT_NE(fused["verdict"], "none");
}

TEST_F(Compare, HasNoVerdictAfterOneRun) {
  const auto folders = two_runs("layer=naive");
  const std::string text = compare({folders[0], folders[1]}).output;
  EXPECT_THAT(text, HasSubstr("one process: no interval for other processes"));
  EXPECT_THAT(text, HasSubstr("\nNo verdict yet: cpu "));
  EXPECT_THAT(compare({folders[0], folders[1], "--verbose"}).output,
              HasSubstr("no verdict with fewer than 5 processes on each side"));
}

TEST_F(Compare, PrintsWhatRanOnRequest) {
  two_runs("layer=naive");
  const std::string text = compare({"tiny"}).output;
  for (const char* detail : {"us a training sample", "cpu fused ran ", "train losses of ", "without a model, "}) {
    EXPECT_THAT(text, Not(HasSubstr(detail)));
    EXPECT_THAT(compare({"tiny", "--verbose"}).output, HasSubstr(detail));
  }
  EXPECT_EQ(compare({"tiny", "--verbose", "--csv"}).exit_code, 2);
}

TEST_F(Compare, CountsACopyOfARunOnce) {
  const auto folders = two_runs("layer=naive");
  const std::string copy = folders[0] + "-copy";
  std::filesystem::copy(program_.folder() / folders[0], program_.folder() / copy,
                        std::filesystem::copy_options::recursive);
  EXPECT_THAT(compare({folders[0], folders[1], copy}).output,
              HasSubstr("skipped as a copy of an included run: " + copy));
}

TEST_F(Compare, RefusesAnotherPrecisionUnlessForced) {
  const auto folders = two_runs("precision=bf16");
  const auto refused = compare({folders[0], folders[1]});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("precision: "));
  const auto forced = compare({folders[0], folders[1], "--force", "--json"});
  EXPECT_EQ(forced.exit_code, 0);
  EXPECT_THAT(forced.output, HasSubstr("\"forced\": [\n"));
}

TEST_F(Compare, GivesCsvForPrograms) {
  const auto folders = two_runs("layer=naive");
  const auto result = compare({folders[0], folders[1], "--csv"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.output.starts_with("label,")) << result.output;
}

TEST_F(Compare, PrintsTimesAndLossesByEpochOnRequest) {
  const auto folders = two_runs("layer=naive");
  const std::string plain = compare({folders[0], folders[1]}).output;
  const std::string text = compare({folders[0], folders[1], "--matrices"}).output;
  EXPECT_TRUE(text.starts_with(plain)) << text;
  EXPECT_THAT(text, HasSubstr("\nTraining seconds by epoch:\nepoch  cpu fused  cpu naive\n"));
  EXPECT_THAT(text, HasSubstr("\nTrain loss by epoch:\nepoch  cpu fused  cpu naive\n"));
  EXPECT_THAT(compare({folders[0], folders[1], "--matrices", "--json"}).output, HasSubstr("\"epoch_matrices\": {\n"));
  EXPECT_TRUE(compare({folders[0], folders[1], "--matrices", "--csv"}).output.starts_with("label,epoch,num_runs,"));
}

TEST_F(Compare, NamesAFolderThatIsNotARun) {
  const auto result = compare({"nowhere"});
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
}

}  // namespace
}  // namespace rnnlab
