// SPDX-License-Identifier: Apache-2.0
#include "runs/report/writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "golden.h"
#include "runs/report/sample_sources.h"
#include "runs/report/text.h"

namespace rnnlab::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report with(Block block) {
  Report report = {.title = "A *title*", .sections = {{.id = "a", .heading = "Runs"}}};
  report.sections[0].blocks.push_back(std::move(block));
  return report;
}

Chart matrix(size_t num_runs) {
  Curves curves = {{.name = "epoch"}, {.name = "time", .unit = "s"}, {}};
  for (size_t i = 0; i < num_runs; ++i) {
    const std::string name = "run " + std::to_string(i);
    curves.curves.push_back({name, name, {{1, 0.5}, {2, 0.25}}});
  }
  return {.id = "a-b", .title = "Time", .data = Prominence::kOpen, .body = curves};
}

TEST(Markdown, HasTheMatrixOfEpochsAndRuns) { expect_golden(markdown_of(with(matrix(2)))); }

TEST(Markdown, LeavesOutWhatNobodyReadsAndSaysSo) {
  expect_golden(markdown_of(with(matrix(200))));
  Chart folded = matrix(2);
  folded.data = Prominence::kFolded;
  EXPECT_EQ(markdown_of(with(folded)), "# A \\*title\\*\n\n## Runs\n");
}

TEST(Markdown, ShoutsWhatCompareRefuses) {
  expect_golden(markdown_of(with(Notice{Severity::kRefusal, "rows: not fair", {"batch size: 1 in a, 2 in b|c"}})));
}

TEST(Markdown, OfRunsHasTimesAndLossesByRunAndEpoch) {
  const std::string text = markdown_of(testing::report_of(testing::naive_and_fused()));
  EXPECT_THAT(text, HasSubstr(" | cpu fused |\n|---:|---:|---:|\n| 1 | 9 | 4 |\n| 2 | 2 | 1 |\n"));
  EXPECT_THAT(text, HasSubstr("**Train loss by epoch**\n"));
  EXPECT_THAT(text, Not(HasSubstr("wall time")));
}

TEST(Markdown, HasAColumnForAllRunsOfAGroup) {
  const std::string text = markdown_of(testing::report_of({testing::sample_run("cpu", "naive", 1, {9, 2}),
                                                           testing::sample_run("cpu", "naive", 1, {9, 8}),
                                                           testing::sample_run("cpu", "fused", 1, {3, 1})}));
  EXPECT_THAT(text, HasSubstr("geometric mean)**\n\n| epoch | cpu naive (2 runs) | "));
  EXPECT_THAT(text, HasSubstr("\n| 1 | 9 | 3 |\n| 2 | 4 | 1 |\n"));
  EXPECT_THAT(text, HasSubstr("the median)**\n\n| epoch | "));
}

TEST(Markdown, ALossThatIsNoNumberInOneRunIsNoneOfAll) {
  Chart chart = matrix(2);
  auto& curves = std::get<Curves>(chart.body);
  curves.y.unit = "";
  for (Curve& curve : curves.curves) curve.group = "all";
  curves.curves[1].points[1].y = std::nan("");
  EXPECT_THAT(markdown_of(with(chart)), HasSubstr("| epoch | all (2 runs) |\n|---:|---:|\n| 1 | 0.5 |\n| 2 | nan |\n"));
}

TEST(Markdown, SaysWhereATableIsThatIsTooLarge) {
  TextTable table;
  for (int i = 0; i < 20; ++i) table.add_column("x", Align::kRight);
  expect_golden(markdown_of(with(NamedTable{"a", "Settings", table})));
}

TEST(Readable, IsValidUtf8OnOneLine) {
  EXPECT_EQ(readable("a\nb\tc\x1b[2J\x7f"), "a b c [2J ");
  expect_golden(readable("caf\xC3\xA9 \xFF\xC3"));
}

TEST(Readable, TurnsNoDirection) {
  EXPECT_EQ(readable("a\xE2\x80\xAE"
                     "b\xE2\x81\xA9"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(readable("\xE2\x80\x93 \xE2\x81\xB0"), "\xE2\x80\x93 \xE2\x81\xB0");
}

TEST(HtmlEscaped, HoldsNoMarkup) { expect_golden(html_escaped("<b>\"a\" & 'b'</b>")); }

TEST(MarkdownEscaped, HoldsNoMarkup) { expect_golden(markdown_escaped("a|b `c` *d* [e](f) <g> & \\ train_loss")); }

TEST(MarkdownEscaped, MakesNoEmphasisListLinkOrFormulaOfANameOrAPath) {
  EXPECT_EQ(markdown_escaped("_x_ num_layers a_"), "\\_x\\_ num_layers a\\_");
  EXPECT_EQ(markdown_escaped("http://a.b www.a.b $x$"), "http\\://a.b www\\.a.b \\$x\\$");
  EXPECT_EQ(markdown_escaped("- a-b"), "\\- a-b");
  EXPECT_EQ(markdown_escaped("# a"), "\\# a");
  EXPECT_EQ(markdown_escaped("12. a 1.5"), "12\\. a 1.5");
}

TEST(Slug, IsAFileNameAndAnAnchor) {
  EXPECT_EQ(slug("GRU speed/2"), "gru_speed_2");
  EXPECT_EQ(slug("../../etc/passwd"), "etc_passwd");
  EXPECT_EQ(slug("\xE6\x96\x87"), "report");
  EXPECT_EQ(slug(std::string(100, 'a')).size(), 60U);
}

TEST(CsvOf, QuotesWhatNeedsIt) {
  TextTable table;
  table.add_column("run, layer", Align::kLeft);
  table.add_column("s", Align::kRight);
  table.add_row({"a \"b\"\nc", "1"});
  EXPECT_EQ(csv_of(table), "\"run, layer\",s\n\"a \"\"b\"\"\nc\",1\n");
}

TEST(Base64, IsThatOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

}  // namespace

}  // namespace rnnlab::report
