// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/program.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::Program;
using testing::read_text;

class ReportVerb : public ::testing::Test {
 protected:
  void SetUp() override { program_.run({"train", "tiny.yaml"}, 0); }

  const Program program_{kTinyYaml};
};

TEST_F(ReportVerb, WritesAPage) {
  const auto result = program_.run({"report", "runs/tiny"}, 0);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, HasSubstr(" report.html written, "));
  EXPECT_THAT(program_.run({"report", "runs/tiny"}).errors, HasSubstr("written in place of "));
  EXPECT_TRUE(read_text(program_.folder() / "report.html").starts_with("<!DOCTYPE html>"));
}

TEST_F(ReportVerb, PrintsMarkdownAndWritesThePageWhereItIsNamed) {
  const auto markdown = program_.run({"report", "runs/tiny", "--markdown"}, 0);
  EXPECT_TRUE(markdown.output.starts_with("# Report on tiny\n"));
  EXPECT_FALSE(std::filesystem::exists(program_.folder() / "report.html"));
  EXPECT_EQ(program_.run({"report", "runs/tiny", "--markdown", "-o", "tiny.html"}).output, markdown.output);
  EXPECT_TRUE(std::filesystem::exists(program_.folder() / "tiny.html"));
}

TEST_F(ReportVerb, PrintsWhatItWroteAsJson) {
  const auto result = program_.run({"report", "runs/tiny", "--json"}, 0);
  EXPECT_EQ(nlohmann::json::parse(result.output), nlohmann::json::parse(R"({"page": "report.html", "left_out": []})"));
  EXPECT_EQ(program_.run({"report", "runs/tiny", "--json", "--markdown"}).exit_code, 2);
}

TEST_F(ReportVerb, ShowsPredictionsIfTheyAreRequested) {
  const auto without = program_.run({"report", "runs/tiny", "--markdown"});
  EXPECT_THAT(without.output, Not(HasSubstr("Confusion matrix")));
  const auto result = program_.run({"report", "runs/tiny", "--markdown", "--predictions"}, 0);
  EXPECT_THAT(result.output, HasSubstr("## Predictions of tiny"));
  EXPECT_THAT(result.output, HasSubstr("Confusion matrix"));
  EXPECT_THAT(result.output, HasSubstr("largest errors"));
}

TEST_F(ReportVerb, SaysWhyARunHasNoPredictions) {
  std::filesystem::remove_all(program_.folder() / program_.run_folders("tiny").at(0) / "checkpoints");
  const auto result = program_.run({"report", "runs/tiny", "--markdown", "--predictions"}, 0);
  EXPECT_THAT(result.errors, HasSubstr("no predictions of tiny, "));
  EXPECT_THAT(result.output, HasSubstr("runs without predictions"));
}

constexpr const char* kDaysYaml = R"(name: days
device: cpu
data: {source: csv, path: days.csv, features: [level], target: [level], window: 3, id: [day], num_test: 8}
model: {kind: sequence_regressor, hidden_size: 2}
training: {epochs: 1, batch_size: 16}
)";

TEST_F(ReportVerb, BeginsWithTheForecastOnTheTestPart) {
  std::string rows = "day,level\n";
  for (int i = 0; i < 60; ++i) rows += "2026-01-" + std::to_string(i) + "," + std::to_string(i % 7) + "\n";
  program_.write("days.csv", rows);
  program_.write("days.yaml", kDaysYaml);
  ASSERT_EQ(program_.run({"train", "days.yaml"}).exit_code, 0);
  const auto report = program_.run({"report", "days", "--markdown"}, 0);
  const std::string& text = report.output;
  EXPECT_THAT(text.substr(0, text.find("\n\n", 20)), HasSubstr(": test RMSE "));
  EXPECT_LT(text.find("## Predictions of days"), text.find("## Runs of days"));
  EXPECT_LT(text.find("8 test samples"), text.find("## Runs of days"));
  EXPECT_THAT(text, HasSubstr("2026-01-59"));
  EXPECT_THAT(program_.run({"report", "days", "--markdown", "--part", "valid"}).output, HasSubstr(": valid RMSE "));
  EXPECT_THAT(program_.run({"report", "days", "--markdown", "--no-predictions"}).output,
              Not(HasSubstr("## Predictions of")));
  EXPECT_EQ(program_.run({"report", "days", "--part", "tset"}).exit_code, 2);
}

TEST_F(ReportVerb, KnowsThePriceOfAnEpoch) {
  const auto result = program_.run({"report", "runs/tiny", "--markdown", "--price-per-hour", "2.49"});
  EXPECT_THAT(result.output, HasSubstr("price/epoch"));
  const auto wrong = program_.run({"compare", "runs/tiny", "--price-per-hour=free"}, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("--price-per-hour"));
}

TEST_F(ReportVerb, TakesRunsAndABenchmark) {
  program_.run({"bench", "hidden_size=2", "num_layers=1", "num_steps=2", "batch_size=1", "repeats=2", "device=cpu",
                "--json", "bench.json", "-q"},
               0);
  const auto result = program_.run({"report", "runs/tiny", "bench.json", "--markdown"}, 0);
  EXPECT_THAT(result.output, HasSubstr("# Report on tiny and "));
  EXPECT_THAT(result.output, HasSubstr("## Benchmark bench.json\n"));
}

TEST_F(ReportVerb, NamesWhatIsNeitherARunNorABenchmark) {
  program_.expect_error(3, {"report", "tiny.yaml"});
  program_.expect_error(2, {"report", "missing.json"});
  program_.expect_error(2, {"report", "nowhere"});
  program_.expect_error(2, {"report", "runs"});
}

TEST_F(ReportVerb, RefusesAPageThatCannotBeWrittenBeforeItReads) {
  program_.write("tiny.html", "a report");
  program_.expect_error(2, {"report", "runs/tiny", "--markdown", "-o", "summary.md"});
  program_.expect_error(2, {"report", "tiny.html", "-o", "tiny.html"});
  program_.expect_error(2, {"report", "runs/tiny", "-o", "nowhere/page.html"});
}

TEST_F(ReportVerb, SaysHowToSaveAChartInPlaceOfTheOldFigures) {
  const auto result = program_.run({"report", "runs/tiny", "--figures", "pictures"}, 2);
  EXPECT_THAT(result.errors, HasSubstr("'Save SVG'"));
  EXPECT_FALSE(std::filesystem::exists(program_.folder() / "report.html"));
}

TEST_F(ReportVerb, LeavesNoDamagedRunOutInSilence) {
  std::filesystem::remove(program_.run_folders("tiny").at(0) + "/epochs.csv");
  const auto result = program_.run({"report", "runs/tiny"}, 3);
  EXPECT_THAT(result.errors, HasSubstr("epochs.csv"));
}

TEST_F(ReportVerb, LeavesADamagedRunOfSeveralOut) {
  ASSERT_EQ(program_.run({"train", "tiny.yaml", "layer=fused"}).exit_code, 0);
  program_.write(
      std::filesystem::relative(program_.run_folders("tiny").at(0), program_.folder()).string() + "/summary.json", "{");
  const auto result = program_.run({"report", "runs/tiny", "--markdown"}, 3);
  EXPECT_THAT(result.errors, HasSubstr("rnnlab: left out: runs/tiny/"));
  EXPECT_THAT(result.output, HasSubstr("**WARNING: left out "));
  EXPECT_THAT(result.output, HasSubstr("cpu "));
}

TEST_F(ReportVerb, WritesThePageIfTheReaderOfTheMarkdownEnds) {
  program_.run_in_shell("\"$0\" report runs/tiny --markdown -o page.html | true", 0);
  EXPECT_THAT(testing::read_text(program_.folder() / "page.html"), HasSubstr("</html>"));
}

}  // namespace
}  // namespace rnnlab
