// SPDX-License-Identifier: Apache-2.0
#include "runs/report/writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "base/sha256.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "runs/bench/sample_report.h"
#include "runs/report/sample_sources.h"
#include "runs/report/text.h"

namespace rnnlab::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::naive_and_fused;
using ::testing::Not;
using testing::report_of;

// Returns every part of a page between two texts.
std::vector<std::string> all_between(const std::string& page, const std::string& begin, const std::string& end) {
  std::vector<std::string> found;
  for (size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    const size_t stop = page.find(end, at);
    found.push_back(page.substr(at, stop - at));
  }
  return found;
}

// Returns the page without chart library, script and style, which do not contain texts of a run.
std::string written_part(std::string page) {
  for (const std::string_view asset : {chart_library(), page_script(), page_style()})
    if (const size_t at = page.find(asset); at != std::string::npos) page.erase(at, asset.size());
  return page;
}

std::string decoded(const std::string& base64_text) {
  std::string bytes(base64_text.size(), '\0');
  EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                  reinterpret_cast<const unsigned char*>(base64_text.data()), static_cast<int>(base64_text.size()));
  const size_t padding = static_cast<size_t>(std::ranges::count(base64_text, '='));
  bytes.resize(base64_text.size() / 4 * 3 - padding);
  return bytes;
}

constexpr const char* kHostile = "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\">&lt;";

Report hostile_report() {
  auto runs = naive_and_fused();
  for (auto& run : runs) {
    run.summary.name = kHostile;
    run.summary.path = kHostile;
    run.summary.warnings = {{kHostile, kHostile}};
    run.environment.cpu.model = kHostile;
    run.environment.host.hostname = kHostile;
  }
  runs[1].summary.layer = kHostile;
  BenchReport bench = testing::sample_report();
  bench.rows[0].key.layer = kHostile;
  bench.rows[1].path = kHostile;
  bench.settings = kHostile;
  return make_report({.runs = testing::read_back(runs), .benchmarks = {{kHostile, bench}}});
}

TEST(Html, TakesNoTextOfARunForMarkup) {
  const std::string page = written_part(html_of(hostile_report()));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("onerror=\"")));
}

TEST(Html, HoldsTheDataOfChartsAsJsonThatNoTextCanEnd) {
  const auto scripts = all_between(html_of(hostile_report()), "<script type=\"application/json\">", "</script>");
  ASSERT_FALSE(scripts.empty());
  bool has_name = false;
  for (const std::string& script : scripts) {
    EXPECT_EQ(script.find('<'), std::string::npos);
    const auto json = nlohmann::json::parse(script);
    has_name = has_name || json.dump().find("alert(1)") != std::string::npos;
  }
  EXPECT_TRUE(has_name);
}

TEST(Html, LoadsNothing) {
  const std::string page = html_of(hostile_report());
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
  const std::string written = written_part(page);
  for (const std::string& tag : all_between(written, "<", ">")) EXPECT_THAT(tag, Not(HasSubstr(" src=")));
  for (const char* loading : {"<link", "@import", "url(", "href=\"http", "href=\"//", "<iframe", "<object"})
    EXPECT_THAT(written, Not(HasSubstr(loading)));
  for (const std::string& target : all_between(written, "href=\"", "\""))
    EXPECT_TRUE(target.starts_with("#") || target.starts_with("data:text/csv;")) << target;
}

TEST(Html, RunsNoScriptButItsTwo) {
  const std::string page = html_of(report_of(naive_and_fused()));
  const auto scripts = all_between(page, "<script>", "</script>");
  ASSERT_EQ(scripts.size(), 2U);
  const std::string policy = all_between(page, "script-src ", ";").at(0);
  for (const std::string& script : scripts) {
    const std::string digest = Sha256().update(script).hex();
    std::string bytes;
    for (size_t i = 0; i < digest.size(); i += 2)
      bytes += static_cast<char>(std::stoi(digest.substr(i, 2), nullptr, 16));
    EXPECT_THAT(policy, HasSubstr("'sha256-" + base64(bytes) + "'"));
  }
  EXPECT_EQ(std::ranges::count(policy, ' '), 1);
}

TEST(Html, GivesTheDataOfEveryChartAsCsvThatReadsBack) {
  const Report report = report_of(naive_and_fused());
  const std::string page = html_of(report);
  for (const Chart& chart : testing::charts_in(report)) {
    const std::string begin = "download=\"" + chart.id + ".csv\" href=\"data:text/csv;charset=utf-8;base64,";
    const auto links = all_between(page, begin, "\"");
    ASSERT_EQ(links.size(), 1U) << chart.id;
    EXPECT_EQ(decoded(links[0]), csv_of(data_of(chart, Digits::kAll)));
  }
}

TEST(Html, HasARealTableBehindEveryChart) {
  const std::string page = html_of(report_of(naive_and_fused()));
  const auto figures = all_between(page, "<figure class=\"chart\"", "</figure>");
  EXPECT_EQ(figures.size(), 9U);
  for (const std::string& figure : figures) {
    EXPECT_THAT(figure, HasSubstr("<div class=\"plot\" role=\"img\" aria-label=\""));
    EXPECT_THAT(figure, HasSubstr("<caption>"));
    EXPECT_THAT(figure, HasSubstr("<th scope=\"col\""));
    EXPECT_THAT(figure, HasSubstr("<th scope=\"row\""));
    EXPECT_THAT(figure, HasSubstr("tabindex=\"0\" aria-label=\"The numbers of "));
  }
}

TEST(Html, LeavesALargeTableToItsCsv) {
  const std::string page = html_of(report_of({testing::sample_run("cpu", "naive", 1, std::vector<double>(2000, 1))}));
  const auto figures = all_between(page, "<figure class=\"chart\" id=\"rows-epoch-time\">", "</figure>");
  EXPECT_THAT(figures.at(0), Not(HasSubstr("<table>")));
  EXPECT_THAT(figures.at(0), HasSubstr("(2,000 rows)"));
}

TEST(Html, OpensWithWhatCompareRefuses) {
  auto runs = naive_and_fused();
  runs[1].summary.identity.batch_size = 64;
  const std::string page = html_of(report_of(runs));
  const size_t refusal =
      page.find("<div class=\"notice refusal\" role=\"note\">\n<p><strong>Refused: the runs of rows are not a fair");
  ASSERT_NE(refusal, std::string::npos);
  EXPECT_LT(refusal, page.find("<section"));
  EXPECT_THAT(page, HasSubstr("<li>batch size: 128 in "));
}

TEST(Html, BeginsWithTheAnswerAndWhereItWasMeasured) {
  const std::string page = html_of(report_of(naive_and_fused()));
  EXPECT_THAT(page, HasSubstr("<main id=\"content\">\n<p class=\"answer\">"));
  expect_golden(all_between(page, "<p class=\"answer\">", "</p>"));
  expect_golden(all_between(page, "<p class=\"conditions\">", "</p>"));
}

// On a narrow screen a row is a list, and "512" alone would not say what it is.
TEST(Html, NamesTheValueThatBeginsARow) {
  TextTable table;
  for (const char* heading : {"H", "B", "ms"}) table.add_column(heading, Align::kLeft);
  table.add_row({"512", "64", "2"});
  const std::string page = html_of({.title = "t", .opening = {NamedTable{"a", "A table", table}}});
  EXPECT_THAT(page, HasSubstr("role=\"rowheader\" data-heading=\"H \">512</th>"));
  EXPECT_THAT(page, HasSubstr("<td role=\"cell\" data-heading=\"B\">64</td>"));
}

TEST(Html, LeavesOutColumnsWithoutAValueButNotInTheirCsv) {
  TextTable table;
  for (const char* heading : {"run", "ratio", "p"}) table.add_column(heading, Align::kRight);
  table.add_row({"a", "1", "-"});
  table.add_row({"b", "-", "-"});
  const std::string page = written_part(html_of({.title = "t", .opening = {NamedTable{"a", "A table", table}}}));
  EXPECT_THAT(all_between(page, "<th scope=\"col\"", "</th>"), ElementsAre(" class=\"n\">run", " class=\"n\">ratio"));
  EXPECT_EQ(decoded(all_between(page, ";base64,", "\"").at(0)), csv_of(table));
}

TEST(Html, FoldsOnlyNotesAway) {
  Report report = {.title = "t"};
  const std::vector<std::string> lines(20, "line");
  report.opening = {Notice{Severity::kWarning, "w", lines}};
  EXPECT_THAT(all_between(html_of(report), "<main", "</main>").at(0), Not(HasSubstr("<details>")));
  report.opening = {Notice{Severity::kNote, "n", lines}};
  EXPECT_THAT(all_between(html_of(report), "<main", "</main>").at(0), HasSubstr("<summary>All 20</summary>"));
}

TEST(Html, HasOneHeadingOfTheFirstRankAndLinksToItsSections) {
  auto runs = naive_and_fused();
  runs.push_back(naive_and_fused()[0]);
  runs.back().summary.name = "other";
  runs.back().summary.identity.model_hash = "m2";
  const std::string page = html_of(report_of(runs));
  EXPECT_EQ(all_between(page, "<h1>", "</h1>").size(), 1U);
  EXPECT_THAT(all_between(page, "<li><a href=\"#", "\""), ElementsAre("rows", "other"));
  EXPECT_THAT(page, HasSubstr("<section id=\"other\" aria-labelledby=\"other-heading\">"));
  EXPECT_THAT(page, HasSubstr("<html lang=\"en\">"));
}

TEST(PageAssets, HaveTheLibraryThatItsReadmeNames) {
  const std::string readme = testing::read_text(std::string(RNNLAB_SOURCE_DIR) + "/third_party/echarts/README.md");
  EXPECT_THAT(readme, HasSubstr(Sha256().update(chart_library()).hex() + "  echarts.min.js"));
  EXPECT_THAT(std::string(chart_library()), HasSubstr("t.version=\"5.5.1\""));
  EXPECT_THAT(readme, HasSubstr("Apache ECharts 5.5.1"));
}

TEST(PageAssets, EndNoScriptBeforeItsEnd) {
  for (const std::string_view script : {chart_library(), page_script()}) {
    EXPECT_EQ(script.find("</script"), std::string_view::npos);
    EXPECT_EQ(script.find("<!--"), std::string_view::npos);
  }
  EXPECT_EQ(page_style().find("</style"), std::string_view::npos);
}

TEST(PageAssets, CarryTheTermsOfTheLibrary) {
  EXPECT_THAT(html_of({.title = "t"}), HasSubstr("Version 2.0, January 2004"));
}

TEST(ChartJson, LeavesAGapWhereALossIsNoNumber) {
  const Chart chart = {.id = "a-b",
                       .title = "Loss",
                       .body = Curves{{.name = "epoch"},
                                      {.name = "loss", .scale = Scale::kLogarithmic},
                                      {{"a", "a, seed 1", {{1, 0.5, "warm-up"}, {2, std::nan("")}, {3, INFINITY}}}}}};
  EXPECT_EQ(
      chart_json(chart).dump(),
      R"({"kind":"curves","x":{"name":"epoch","unit":"","logarithmic":false},)"
      R"("y":{"name":"loss","unit":"","logarithmic":true},)"
      R"("curves":[{"group":"a","name":"a, seed 1","style":0,"points":[[1.0,0.5,"warm-up"],[2.0,null],[3.0,null]]}],)"
      R"("title":"Loss"})");
}

TEST(ChartJson, HasTheIntervalsOfCurvesThatHaveAny) {
  const Chart chart = {
      .id = "a-b",
      .title = "Speed-up",
      .body = Curves{{.name = "devices"},
                     {.name = "speed-up"},
                     {{"a", "a", {{1, 1}, {2, 1.5, "", Interval{1.25, 1.75}}}}, {"b", "b", {{1, 1}}}}}};
  const auto json = chart_json(chart);
  EXPECT_EQ(json["curves"][0]["points"].dump(), "[[1.0,1.0],[2.0,1.5]]");
  EXPECT_EQ(json["curves"][0]["intervals"].dump(), "[[2.0,1.25,1.75]]");
  EXPECT_FALSE(json["curves"][1].contains("intervals"));
}

TEST(ChartJson, HasTheMedianOfARunsOfAGroupWithItsBand) {
  const Chart chart = {.id = "a-b",
                       .title = "Loss",
                       .body = Curves{{.name = "epoch"},
                                      {.name = "loss"},
                                      {{"a", "a, seed 1", {{1, 4, "warm-up"}, {2, 1}}, 3},
                                       {"a", "a, seed 2", {{1, 6, "warm-up"}, {2, 2}}, 3},
                                       {"a", "a, seed 3", {{1, 5, "warm-up"}, {2, 9}}, 3},
                                       {"b", "b", {{1, 1}, {2, 1}}}}}};
  EXPECT_EQ(chart_json(chart)["bands"].dump(),
            R"([{"group":"a","style":3,"runs":3,"points":[[1.0,5.0,4.0,6.0,"warm-up"],[2.0,2.0,1.0,9.0]]}])");
}

TEST(ChartJson, MayStandInAScriptWhateverItHolds) {
  EXPECT_EQ(script_text("</script><!--\xFF"), "\"\\u003c/script>\\u003c!--\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace rnnlab::report
