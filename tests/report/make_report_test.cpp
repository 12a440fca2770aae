#include "report/make_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/sample_report.h"
#include "report/sample_sources.h"
#include "results/comparison.h"
#include "results/comparison_text.h"
#include "results/expect_error.h"

namespace rnnlab::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::naive_and_fused;
using testing::opening_notices;
using testing::read_back;
using testing::report_of;

const NamedTable& table_called(const Section& section, const std::string& title) {
  for (const Block& block : section.blocks)
    if (const auto* table = std::get_if<NamedTable>(&block); table != nullptr && table->title == title) return *table;
  throw std::runtime_error("no table " + title);
}

TEST(MakeReport, ShowsTheVeryTableOfTheComparison) {
  const auto runs = read_back(naive_and_fused());
  const Report report = make_report({.runs = runs, .benchmarks = {}});
  EXPECT_EQ(report.title, "Report on rows");
  ASSERT_EQ(report.sections.size(), 1U);
  const TextTable expected = comparison_table(compare(runs, {}));
  EXPECT_EQ(table_called(report.sections[0], "The comparison").table.rows(), expected.rows());
}

TEST(MakeReport, SaysWhatTheWorkTookAndHowFarTheLossesAgree) {
  std::vector<std::string> said;
  const Report report = report_of(naive_and_fused());
  for (const Block& block : report.sections[0].blocks)
    if (const auto* sentences = std::get_if<Sentences>(&block))
      said.insert(said.end(), sentences->lines.begin(), sentences->lines.end());
  EXPECT_THAT(said,
              Contains("cpu fused took 8.333 us a training sample; the whole fit took 10.88 s, validation included"));
  EXPECT_THAT(said, Contains("train losses of cpu naive and cpu fused are equal over 7 epochs"));
}

TEST(MakeReport, OpensWithWhatCompareRefuses) {
  auto runs = naive_and_fused();
  runs[1].summary.identity.precision = "tf32";
  const auto notices = opening_notices(report_of(runs));
  ASSERT_FALSE(notices.empty());
  EXPECT_EQ(notices[0].severity, Severity::kRefusal);
  EXPECT_EQ(notices[0].title,
            "rows: not a fair comparison. `rnnlab compare` refuses these runs, for they did not do the same work under "
            "the same conditions");
  EXPECT_THAT(notices[0].lines, ElementsAre("precision: fp32 in cpu naive, tf32 in cpu fused"));
}

TEST(MakeReport, MarksTheRatiosOfARefusedComparison) {
  auto runs = naive_and_fused();
  runs[1].summary.identity.precision = "tf32";
  const Report report = report_of(runs);
  EXPECT_THAT(std::get<Sentences>(report.sections[0].blocks[0]).lines,
              Contains(HasSubstr("NOT COMPARABLE: cpu fused")));
}

TEST(MakeReport, HidesNoWarningAndNoNoteOfTheComparison) {
  auto runs = naive_and_fused();
  runs[0].environment.cpu.busy_fraction = 0.75;
  runs[1].summary.warnings = {{warning::kGpuBusy, "THE GPU IS BUSY: 40 % of GPU 0 was in use"}};
  runs[1].summary.ending = RunEnding::kInterrupted;
  const auto records = read_back(runs);
  const Comparison comparison = compare(records, {.baseline = "", .on_difference = OnDifference::kForce});
  ASSERT_GE(comparison.warnings.size(), 3U);
  ASSERT_FALSE(comparison.notes.empty());
  const Report report = make_report({.runs = records, .benchmarks = {}});
  const auto notices = opening_notices(report);
  EXPECT_EQ(notices.back().severity, Severity::kWarning);
  EXPECT_EQ(notices.back().lines, texts_of(comparison.warnings));
  std::vector<std::vector<std::string>> notes;
  for (const Block& block : report.sections[0].blocks)
    if (const auto* notice = std::get_if<Notice>(&block)) notes.push_back(notice->lines);
  EXPECT_THAT(notes, Contains(comparison.notes));
}

TEST(MakeReport, SetsNoExperimentAgainstAnotherThatDidOtherWork) {
  auto runs = naive_and_fused();
  for (const auto& run : naive_and_fused()) {
    runs.push_back(run);
    runs.back().summary.name = "other rows";
    runs.back().summary.identity.model_hash = "m2";
  }
  const Report report = report_of(runs);
  ASSERT_EQ(report.sections.size(), 2U);
  EXPECT_EQ(report.sections[0].heading, "Runs of rows");
  EXPECT_EQ(report.sections[1].heading, "Runs of other rows");
  EXPECT_EQ(table_called(report.sections[1], "The comparison").table.rows().size(), 2U);
  const auto notices = opening_notices(report);
  EXPECT_EQ(notices[0].title,
            "Runs of different experiments are not set against each other: `rnnlab compare` refuses them together");
  EXPECT_THAT(notices[0].lines[0], HasSubstr(" in rows cpu naive, m2 in other rows cpu naive"));
}

TEST(MakeReport, ComparesExperimentsThatDidTheSameWork) {
  auto runs = naive_and_fused();
  runs[1].summary.name = "fused rows";
  EXPECT_THAT(report_of(runs).sections[0].heading, "Runs of rows and fused rows");
}

TEST(MakeReport, HasASectionForEachBenchmarkWithItsDoubtsBeforeEverything) {
  BenchReport bench = testing::sample_report();
  bench.warnings = {{warning::kGpuThrottled, "GPU 0 throttled"}};
  const Report report = make_report({.runs = {}, .benchmarks = {{"ladder.json", bench}}});
  EXPECT_EQ(report.title, "Report on ladder.json");
  EXPECT_EQ(report.sections[0].heading, "Benchmark ladder.json");
  EXPECT_EQ(table_called(report.sections[0], "Layers").table.rows().size(), 3U);
  EXPECT_THAT(opening_notices(report)[0].lines,
              ElementsAre("GPU 0 throttled", "hoisted was not measured: layer: hoisted cannot do this"));
}

TEST(MakeReport, GivesEveryTableAndChartAnIdOfItsOwn) {
  auto runs = naive_and_fused();
  for (const char* name : {"rows-sweep", "Rows"}) {
    runs.push_back(naive_and_fused()[0]);
    runs.back().summary.name = name;
    runs.back().summary.identity.model_hash = name;
  }
  const BenchReport bench = testing::sample_report();
  const Report report =
      make_report({.runs = read_back(runs), .benchmarks = {{"rows.json", bench}, {"a/rows.json", bench}}});
  std::multiset<std::string> ids;
  for (const Section& section : report.sections) {
    ids.insert(section.id);
    for (const Block& block : section.blocks) {
      if (const auto* table = std::get_if<NamedTable>(&block)) ids.insert(table->id);
      if (const auto* chart = std::get_if<Chart>(&block)) ids.insert(chart->id);
    }
  }
  EXPECT_EQ(ids.size(), std::set<std::string>(ids.begin(), ids.end()).size());
}

TEST(MakeReport, LeavesThePagesOwnIdToIt) {
  testing::SampleRun run = testing::naive_and_fused()[0];
  run.summary.name = "content";
  EXPECT_EQ(testing::report_of({run}).sections[0].id, "content_2");
}

TEST(MakeReport, ShowsNoEmptyChartsOfARunWithoutEpochs) {
  EXPECT_THAT(testing::ids(testing::charts_in(testing::report_of({testing::sample_run("cpu", "naive", 1, {})}))),
              ::testing::IsEmpty());
}

TEST(MakeReport, WantsSomethingToReport) {
  testing::expect_error(ExitCode::kUsage,
                        "nothing to report: name at least one run folder, or a file of `rnnlab bench --json`",
                        [] { make_report({}); });
}

}  // namespace
}  // namespace rnnlab::report
