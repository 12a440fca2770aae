// SPDX-License-Identifier: Apache-2.0
#include "runs/report/make_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/expect_error.h"
#include "base/text.h"
#include "golden.h"
#include "results/comparison.h"
#include "results/comparison_output.h"
#include "runs/bench/sample_report.h"
#include "runs/report/sample_sources.h"
#include "runs/report/sections.h"
#include "runs/report/writers.h"

namespace rnnlab::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::naive_and_fused;
using ::testing::Not;
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
  const Report report = make_report({.runs = runs});
  EXPECT_EQ(report.title, "Report on rows");
  ASSERT_EQ(report.sections.size(), 1U);
  const Comparison comparison = compare(runs, {});
  EXPECT_EQ(table_called(report.sections[0], "The comparison").table.rows(), time_table(comparison).rows());
  EXPECT_EQ(table_called(report.sections[0], "Losses and metrics").table.rows(), quality_table(comparison).rows());
}

TEST(MakeReport, SaysWhatTheWorkTookAndHowFarTheLossesAgree) {
  const Report report = report_of(naive_and_fused());
  const TextTable& work = table_called(report.sections[0], "Paths and work").table;
  using Cells = std::vector<std::string>;
  EXPECT_THAT(work.rows(),
              ElementsAre(Cells{"cpu naive", "native loop", "-", "-", "16.67", "21.88"},
                          Cells{"cpu fused", "oneDNN reference", "-", "are equal over 7 epochs", "8.333", "10.88"}));
}

TEST(MakeReport, AnswersBeforeItsWarningsAndAfterARefusal) {
  auto runs = naive_and_fused();
  runs[0].environment.cpu.busy_fraction = 0.75;
  EXPECT_TRUE(std::holds_alternative<Answer>(report_of(runs).opening.at(0)));
  runs[1].summary.identity.precision = "tf32";
  const Report refused = report_of(runs);
  EXPECT_EQ(std::get<Notice>(refused.opening.at(0)).severity, Severity::kRefusal);
  EXPECT_THAT(std::get<Answer>(refused.opening.at(1)).sentence, ::testing::StartsWith("NOT COMPARABLE: "));
}

TEST(MakeReport, OpensWithWhatCompareRefuses) {
  auto runs = naive_and_fused();
  runs[1].summary.identity.precision = "tf32";
  const auto notices = opening_notices(report_of(runs));
  ASSERT_FALSE(notices.empty());
  EXPECT_EQ(notices[0].severity, Severity::kRefusal);
  expect_golden(notices[0].title);
  expect_golden(notices[0].lines);
}

TEST(MakeReport, MarksTheRatiosOfARefusedComparison) {
  auto runs = naive_and_fused();
  runs[1].summary.identity.precision = "tf32";
  const Report report = report_of(runs);
  EXPECT_THAT(std::get<Sentences>(report.sections[0].blocks[0]).lines, Contains(HasSubstr("NOT COMPARABLE: ")));
}

TEST(MakeReport, HidesNoWarningAndNoNoteOfTheComparison) {
  auto runs = naive_and_fused();
  runs[0].environment.cpu.busy_fraction = 0.75;
  runs[1].summary.warnings = {{warning::kGpuBusy, "THE GPU IS BUSY: 40 % of GPU 0 was in use"}};
  runs[1].summary.ending = RunEnding::kInterrupted;
  const auto records = read_back(runs);
  const Comparison comparison = compare(records, {.on_difference = OnDifference::kForce});
  ASSERT_GE(comparison.warnings.size(), 3U);
  ASSERT_FALSE(comparison.notes.empty());
  const Report report = make_report({.runs = records});
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
  expect_golden(notices[0].title);
  expect_golden(notices[0].lines[0]);
}

std::vector<testing::SampleRun> lstm_and_gru() {
  auto runs = naive_and_fused();
  for (size_t i = 0; i < 2; ++i) {
    const size_t at = runs[i].config.find("  hidden_size");
    runs[i].config.insert(at, i == 0 ? "  cell: lstm\n" : "  cell: gru\n");
    runs[i].summary.layer = "fused";
    runs[i].summary.identity.model_hash = i == 0 ? "lstm" : "gru";
  }
  return runs;
}

TEST(MakeReport, HasNoRatioOfRunsThatDidOtherWork) {
  const Report report = report_of(lstm_and_gru());
  ASSERT_EQ(report.sections.size(), 1U);
  expect_golden(std::get<Answer>(report.opening.at(0)).sentence);
  const auto notices = opening_notices(report);
  EXPECT_EQ(notices[0].severity, Severity::kNote) << "this is no offence";
  EXPECT_THAT(notices[0].title, HasSubstr("did different work"));
}

TEST(MakeReport, AnswersWhichIsBetterIfRunsDidOtherWork) {
  const auto records = read_back(lstm_and_gru());
  Comparison comparison = compare(records, {.on_difference = OnDifference::kReport});
  comparison.groups.at(1).best_metrics["valid_accuracy"] = {.median = 0.95, .low = 0.95, .high = 0.95};
  expect_golden(answer_of(records, comparison).sentence);
}

// The first sample run alone, with a baseline that its accuracy of 0.875 beats or not.
std::vector<testing::SampleRun> run_with_baseline(double accuracy) {
  testing::SampleRun run = naive_and_fused()[0];
  run.summary.baselines = {{"most frequent class", {{"valid_accuracy", accuracy}}}};
  run.environment.cpu.busy_fraction = 0.75;
  run.environment.cpu.logical_cpus = 2;
  run.environment.cpu.load_average = {6, 6, 6};
  return {run};
}

TEST(MakeReport, BeginsWithTheMetricAndItsBaselineIfNoTimesAreCompared) {
  const Report report = report_of(run_with_baseline(0.5));
  expect_golden(std::get<Answer>(report.opening.at(0)).sentence);
  EXPECT_THAT(opening_notices(report), ::testing::IsEmpty()) << "doubts about times come later";
  EXPECT_THAT(std::get<Sentences>(report.sections[0].blocks.at(0)).lines, Contains(HasSubstr("An epoch of ")));
  EXPECT_THAT(std::get<Notice>(report.sections[0].blocks.at(1)).lines, Contains(HasSubstr("THE CPU IS BUSY")));
  expect_golden(std::get<Answer>(report_of(run_with_baseline(0.9)).opening.at(0)).sentence);
  EXPECT_EQ(std::get<Answer>(report_of({naive_and_fused()[0]}).opening.at(0)).sentence, "Valid acc 0.875.");
}

// A forecast of two dates, whose test part is shown.
RunPredictions forecast_of(const RunRecord& run) {
  PredictionOverview overview;
  overview.is_series = true;
  overview.id_name = "date";
  overview.forecasts = {{.target = "OT",
                         .truth = {1, 2},
                         .predicted = {1.5, 2.5},
                         .naive = {},
                         .samples = {0, 1},
                         .dates = {"2026-01-05", "2026-01-06"}}};
  return {.folder = run.folder,
          .overview = overview,
          .quality = PartQuality{.part = DataPart::kTest,
                                 .model = {{"valid_rmse", 2.5}},
                                 .baselines = {{"last value", {{"valid_rmse", 2.25}}}},
                                 .notes = {}}};
}

TEST(MakeReport, BeginsWithTheForecast) {
  const auto runs = read_back(run_with_baseline(0.5));
  const Report report = make_report({.runs = runs, .predictions = {forecast_of(runs[0])}});
  expect_golden(std::get<Answer>(report.opening.at(0)).sentence);
  ASSERT_EQ(report.sections.size(), 2U);
  EXPECT_THAT(report.sections[0].heading, HasSubstr("Predictions of rows"));
  EXPECT_EQ(table_called(report.sections[0], "The model and predictions without a model").table.rows(),
            (std::vector<std::vector<std::string>>{{"the model", "2.500"}, {"without a model: last value", "2.250"}}));
  const Chart chart = testing::charts_in(report).at(0);
  EXPECT_EQ(std::get<Curves>(chart.body).x.name, "date");
  EXPECT_EQ(data_of(chart, Digits::kAll).rows().at(1).at(0), "2026-01-06");
  EXPECT_THAT(html_of(report), HasSubstr("\"labels\":[\"2026-01-05\",\"2026-01-06\"]"));
}

TEST(MakeReport, AdvisesToTrainLongerWhereARunStillImproved) {
  testing::SampleRun run = naive_and_fused()[0];
  auto runs = read_back({run});
  runs[0].config["training.epochs"] = "7";
  for (EpochRow& row : runs[0].rows) row.valid_loss = 1.0 / static_cast<double>(row.epoch);
  EXPECT_THAT(opening_notices(make_report({.runs = runs})).at(0).lines, ElementsAre(HasSubstr("training.epochs=14")));
}

TEST(MakeReport, ShowsWhatAnEpochCosts) {
  const auto runs = read_back(naive_and_fused());
  const Report report = make_report({.runs = runs, .price_per_hour = 3600});
  const TextTable& costs = table_called(report.sections[0], "What an epoch costs").table;
  EXPECT_THAT(costs.rows(), ElementsAre(ElementsAre("cpu naive", "2.000"), ElementsAre("cpu fused", "1.000")));
}

TEST(MakeReport, ComparesExperimentsThatDidTheSameWork) {
  auto runs = naive_and_fused();
  runs[1].summary.name = "fused rows";
  expect_golden(report_of(runs).sections[0].heading);
}

TEST(MakeReport, HasASectionForEachBenchmarkWithItsDoubtsBeforeEverything) {
  BenchReport bench = testing::sample_report();
  bench.warnings = {{warning::kGpuThrottled, "GPU 0 throttled"}};
  const Report report = make_report({.benchmarks = {{"ladder.json", bench}}});
  EXPECT_EQ(report.title, "Report on ladder.json");
  EXPECT_EQ(report.sections[0].heading, "Benchmark ladder.json");
  EXPECT_EQ(table_called(report.sections[0], "Layers").table.rows().size(), 3U);
  expect_golden(opening_notices(report)[0].lines);
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
  testing::expect_error(ExitCode::kUsage, [] { make_report({}); });
}

// Returns sources with private texts in every place that can contain them.
Sources sources_with_private_texts() {
  auto runs = naive_and_fused();
  for (auto& run : runs) {
    run.environment.host.hostname = "janes-laptop";
    run.environment.host.os = "Debian GNU/Linux 12 (bookworm)";
    run.environment.host.kernel = "Linux 6.1.0-jane";
    run.environment.command_line = {"rnnlab", "train", "/srv/jane doe/rows.yaml"};
    run.environment.ranks = RanksInfo{.num_processes = 2,
                                      .num_hosts = 1,
                                      .exchange = "gloo",
                                      .each = {{.host = "janes-laptop",
                                                .machine_id = "",
                                                .cpu = "a CPU",
                                                .gpu = "",
                                                .gpu_uuid = "",
                                                .driver_version = ""}}};
    run.environment.nvidia.note = "/srv/jane doe/lib/libnvidia-ml.so.1: cannot open";
    run.summary.warnings = {{warning::kOther, "/srv/jane doe/runs/rows/x/trace.json: not written"}};
    run.summary.path_notes = {"read from '/srv/jane doe/weights.safetensors'"};
    run.config += "data: {path: \"/srv/jane doe/pets.csv\"}\n";
  }
  Sources sources = {
      .runs = testing::read_back(runs),
      .benchmarks = {{"/srv/jane doe/ladder.json", testing::sample_report()}},
      .left_out = {{"/srv/jane doe/runs/rows/bad", "/srv/jane doe/runs/rows/bad/epochs.csv:3: no number"},
                   {"jane/bad.json", "jane/bad.json: no JSON"}}};
  sources.runs[0].folder = "/srv/jane doe/runs/rows/2026-cpu-naive";
  sources.runs[1].folder = "../jane/runs/rows/2026-cpu-fused/";
  BenchReport& bench = sources.benchmarks[0].report;
  bench.environment.host.hostname = "janes-laptop";
  bench.warnings = {{warning::kOther, "/srv/jane doe/cache: read-only"}};
  bench.rows[0].notes = {{warning::kOther, "see /srv/jane doe/log"}};
  return sources;
}

void expect_nothing_of_jane(const std::string& text) {
  EXPECT_THAT(text, Not(HasSubstr("jane")));
  EXPECT_THAT(text, Not(HasSubstr("doe/")));
  EXPECT_THAT(text, Not(HasSubstr("/srv")));
}

TEST(WithoutMachine, TellsNothingOfTheUserInAnyForm) {
  const Report report = make_report(without_machine(sources_with_private_texts()));
  expect_nothing_of_jane(html_of(report));
  expect_nothing_of_jane(markdown_of(report));
  for (const Chart& chart : testing::charts_in(report)) {
    const TextTable data = data_of(chart, Digits::kAll);
    for (const TableColumn& column : data.columns()) expect_nothing_of_jane(column.heading);
    for (const auto& row : data.rows())
      for (const std::string& cell : row) expect_nothing_of_jane(cell);
  }
}

TEST(WithoutMachine, IsNotAskedWhereTheMachineIsToBeTold) {
  const std::string page = html_of(make_report(sources_with_private_texts()));
  for (const char* private_text : {"janes-laptop", "Linux 6.1.0-jane", "/srv/jane doe/rows.yaml",
                                   "/srv/jane doe/pets.csv", "/srv/jane doe/runs/rows/2026-cpu-naive"})
    EXPECT_THAT(page, HasSubstr(private_text));
}

TEST(WithoutMachine, KeepsWhatTheNumbersAreJudgedBy) {
  const Sources sources = without_machine(sources_with_private_texts());
  const RunFacts facts = environment_of(sources.runs[0], "a");
  using Fact = std::pair<std::string, std::string>;
  for (const Fact& fact : {Fact{"folder", "rows/2026-cpu-naive"}, Fact{"LibTorch", "2.11.0"},
                           Fact{"build", "Release, gcc 12.2.0"}, Fact{"system", "Debian GNU/Linux 12 (bookworm)"}})
    EXPECT_THAT(facts.values, Contains(fact));
  for (const auto& [name, value] : facts.values) EXPECT_TRUE(name != "host" && name != "command") << name;
  EXPECT_EQ(sources.runs[1].folder, "rows/2026-cpu-fused");
  EXPECT_EQ(sources.runs[0].config.at("data.path"), "\"pets.csv\"");
  EXPECT_THAT(texts_of(sources.runs[0].summary.warnings), ElementsAre("trace.json: not written"));
  EXPECT_EQ(sources.benchmarks[0].file, "ladder.json");
  expect_golden(sources.left_out[0].reason);
  EXPECT_EQ(sources.left_out[1].reason, "bad.json: no JSON");
}

// A minimal container has no /etc/machine-id, so the name of the machine says which runs shared it.
TEST(WithoutMachine, KeepsTheRefusalOfRunsThatSharedAMachineWithoutAnId) {
  Sources sources = {.runs = read_back(naive_and_fused())};
  for (RunRecord& run : sources.runs) {
    run.environment.host.hostname = "janes-laptop";
    run.started = "2026-11-21T02:00:00Z";
  }
  const auto first_notice = [](const Sources& from) { return opening_notices(make_report(from)).at(0); };
  EXPECT_EQ(first_notice(sources).severity, Severity::kRefusal);
  expect_golden(join(first_notice(sources).lines, "\n"));
  EXPECT_EQ(first_notice(without_machine(sources)).severity, Severity::kRefusal);
  EXPECT_EQ(first_notice(without_machine(sources)).lines, first_notice(sources).lines);
}

// Otherwise runs on two files of one name would be pooled as runs of the same work.
TEST(WithoutMachine, KeepsApartWhatDiffersInFoldersAlone) {
  auto runs = naive_and_fused();
  runs[1] = runs[0];
  runs[0].config += "data: {path: /srv/jane/old/pets.csv}\n";
  runs[1].config += "data: {path: /srv/jane/new/pets.csv}\n";
  Sources sources = {.runs = testing::read_back(runs)};
  sources.runs[0].folder = "/srv/jane/a/rows/2026-cpu-naive";
  sources.runs[1].folder = "/srv/jane/b/rows/2026-cpu-naive";
  const Sources clean = without_machine(sources);
  EXPECT_EQ(group_runs(clean.runs).size(), group_runs(sources.runs).size());
  EXPECT_EQ(clean.runs[0].config.at("data.path"), "pets.csv");
  EXPECT_EQ(clean.runs[1].config.at("data.path"), "pets.csv (2)");
  EXPECT_EQ(clean.runs[1].folder, "rows/2026-cpu-naive (2)");
}

}  // namespace
}  // namespace rnnlab::report
