#include "report/without_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/sample_report.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/run_facts.h"
#include "report/sample_sources.h"
#include "results/comparison.h"

namespace rnnlab::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::naive_and_fused;
using ::testing::Not;

// Everything that must not be told, told in every place that can hold it.
Sources telling_sources() {
  auto runs = naive_and_fused();
  for (auto& run : runs) {
    run.environment.host.hostname = "janes-laptop";
    run.environment.host.os = "Debian GNU/Linux 12 (bookworm)";
    run.environment.host.kernel = "Linux 6.1.0-jane";
    run.environment.command_line = {"rnnlab", "train", "/srv/jane doe/rows.yaml"};
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
  const Report report = make_report(without_machine(telling_sources()));
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
  const std::string page = html_of(make_report(telling_sources()));
  for (const char* told : {"janes-laptop", "Linux 6.1.0-jane", "/srv/jane doe/rows.yaml", "/srv/jane doe/pets.csv",
                           "/srv/jane doe/runs/rows/2026-cpu-naive"})
    EXPECT_THAT(page, HasSubstr(told));
}

TEST(WithoutMachine, KeepsWhatTheNumbersAreJudgedBy) {
  const Sources sources = without_machine(telling_sources());
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
  EXPECT_EQ(sources.left_out[0].reason, "bad/epochs.csv:3: no number");
  EXPECT_EQ(sources.left_out[1].reason, "bad.json: no JSON");
}

// Else runs on two files of one name would be pooled as if they were of the same work.
TEST(WithoutMachine, KeepsApartWhatDiffersInFoldersAlone) {
  auto runs = naive_and_fused();
  runs[1] = runs[0];
  runs[0].config += "data: {path: /srv/jane/old/pets.csv}\n";
  runs[1].config += "data: {path: /srv/jane/new/pets.csv}\n";
  Sources sources = {.runs = testing::read_back(runs), .benchmarks = {}};
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
