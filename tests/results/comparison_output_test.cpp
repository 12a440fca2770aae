// SPDX-License-Identifier: Apache-2.0
#include "results/comparison_output.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "golden.h"
#include "results/compared_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Comparison sample_comparison() {
  GroupResult naive;
  naive.label = "cpu naive";
  naive.folders = {"runs/rows/a, b"};
  naive.seeds = {1, 2};
  naive.ended = "complete";
  naive.num_processes = 5;
  naive.num_timed_epochs = 60;
  naive.seconds = 2.25;
  naive.low_seconds = 2;
  naive.high_seconds = 2.5;
  naive.microseconds_per_sample = 37.5;
  naive.fit_seconds = 17.25;
  naive.final_metrics = {
      {"train_loss", {0.5, 0.4, 0.6}}, {"train_accuracy", {0.75, 0.7, 0.8}}, {"valid_loss", {0.25, 0.2, 0.3}}};
  naive.paths = {"native loop"};
  GroupResult fused = naive;
  fused.fit_seconds = std::nullopt;
  fused.label = "cpu fused";
  fused.seeds = {1};
  fused.num_processes = 5;
  fused.ended = "diverged";
  fused.num_timed_epochs = 30;
  fused.seconds = 1.25;
  fused.low_seconds = 1;
  fused.high_seconds = 1.5;
  fused.ratio = 0.5625;
  fused.ratio_low = 0.5;
  fused.ratio_high = 0.625;
  fused.is_paired = true;
  fused.mann_whitney_p = 0.00794;
  fused.verdict = TimeVerdict::kFaster;
  fused.loss_agreement = {.num_epochs = 7, .largest_difference = 2.5e-6, .epoch = 5, .first_difference = 2e-6};
  fused.microseconds_per_sample = 20.83;
  fused.final_metrics = {{"train_loss", {0.5, 0.5, 0.5}}};
  fused.paths = {"oneDNN reference"};
  fused.path_notes = {"brgemm is for inference only"};
  Comparison comparison;
  comparison.baseline = "cpu naive";
  comparison.groups = {naive, fused};
  return comparison;
}

// Changes the result to that of a group of one process.
void take_for_one_process(GroupResult& group) {
  group.num_processes = 1;
  group.bounds_are_spread = true;
  if (!group.ratio) return;
  group.ratio_low = group.ratio_high = group.mann_whitney_p = std::nullopt;
  group.is_paired = false;
  group.verdict = TimeVerdict::kNone;
}

std::vector<std::string> legend_of(const Comparison& comparison) {
  std::vector<std::string> legend = comparison_legend(comparison);
  legend.erase(legend.begin(), legend.begin() + 2);  // what the columns are
  return legend;
}

TEST(ComparisonLegend, SaysWhereOneProcessGivesNoInterval) {
  Comparison comparison = sample_comparison();
  EXPECT_THAT(legend_of(comparison), ::testing::IsEmpty());
  take_for_one_process(comparison.groups[1]);
  expect_golden(legend_of(comparison));
  take_for_one_process(comparison.groups[0]);
  expect_golden(legend_of(comparison)[0]);
  comparison.groups[0].num_processes = 2;
  expect_golden(legend_of(comparison)[0]);
}

TEST(ComparisonTable, HasNoVerdictForOneProcess) {
  Comparison comparison = sample_comparison();
  GroupResult& fused = comparison.groups[1];
  fused.verdict = TimeVerdict::kNoDifference;
  EXPECT_EQ(time_table(comparison).rows()[1][9], "no difference");
  take_for_one_process(fused);
  const std::vector<std::string> cells = time_table(comparison).rows()[1];
  EXPECT_THAT(std::vector(cells.begin() + 2, cells.begin() + 10),
              ::testing::ElementsAre("1", "30", "1.250", "1.000 .. 1.500*", "0.562", "-", "-", "-"));
  fused.num_timed_epochs = 1;
  fused.low_seconds = fused.high_seconds = fused.seconds;
  EXPECT_EQ(time_table(comparison).rows()[1][5], "1.250*") << "one epoch has no spread";
}

// Returns the lines of a text from `first` on; of a negative number, from that line before the end on.
std::vector<std::string> lines_from(const std::string& text, int64_t first, int64_t count) {
  const std::vector<std::string> lines = split(text, '\n');
  const auto begin = first < 0 ? lines.end() - 1 + first : lines.begin() + first;
  return {begin, begin + count};
}

std::vector<std::string> first_lines(const Comparison& comparison, int64_t count) {
  return lines_from(comparison_text(comparison), 0, count);
}
std::vector<std::string> last_lines(const Comparison& comparison, int64_t count) {
  return lines_from(comparison_text(comparison), -count, count);
}

TEST(ComparisonText, SaysWhenATargetWasReached) {
  Comparison comparison = sample_comparison();
  GroupResult& naive = comparison.groups[0];
  naive.target_time = TargetTime{.stop_at = {{"valid_accuracy", 0.98}},
                                 .num_runs = 5,
                                 .num_reached = 5,
                                 .seconds = 12.25,
                                 .low_seconds = 11.5,
                                 .high_seconds = 13};
  comparison.groups[1].target_time = naive.target_time;
  comparison.groups[1].target_time->num_reached = 4;
  comparison.groups[1].target_time->seconds.reset();
  naive.baselines = {{"most frequent class", {{"valid_accuracy", 0.11}}}};
  expect_golden(comparison_work(comparison).back());
  expect_golden(last_lines(comparison, 2));
}

TEST(ComparisonText, CutsLongLabelsInTheTableAndGivesThemBelow) {
  Comparison comparison = sample_comparison();
  comparison.groups[1].label = "cpu fused learning_rate=0.001 schedule=cosine";
  expect_golden(first_lines(comparison, 8));
  comparison.groups[1].label = "runs/rows/2026-11-21T13-06-20Z-cuda0-fused";
  EXPECT_THAT(comparison_text(comparison), HasSubstr("\n2: cuda0-fused "));
}

TEST(ComparisonText, IsTheTableTheAnswerAndTheWarnings) {
  Comparison comparison = sample_comparison();
  comparison.warnings = {{warning::kCpuBusy, "cpu naive: THE CPU IS BUSY"}, {warning::kLossesPart, "a\x1b[2Jb"}};
  expect_golden(comparison_text(comparison));
}

TEST(ComparisonText, FitsTheTerminal) {
  expect_golden(comparison_text(sample_comparison(), 80));
  const std::string narrow = comparison_text(sample_comparison(), 50);
  const std::string table = narrow.substr(0, narrow.find("left out"));
  expect_golden(narrow.substr(table.size(), narrow.find('\n', table.size()) - table.size()));
  for (const std::string& line : split(table, '\n')) EXPECT_LE(display_width(line), 50u) << line;
}

// The counts of runs are equal in most comparisons. Whether they are columns must not depend on how wide an interval
// is.
TEST(ComparisonText, HasEqualCountsInOneLineOnATerminal) {
  Comparison comparison = sample_comparison();
  for (GroupResult& group : comparison.groups) {
    group.ended = "complete";
    group.seeds = {1};
    group.num_timed_epochs = 20;
  }
  for (const double high : {2.5, 2.500001e-3}) {
    comparison.groups[0].high_seconds = high;
    EXPECT_THAT(comparison_text(comparison, 100), AllOf(::testing::StartsWith("run        s/epoch  "),
                                                        HasSubstr("row: seeds 1, processes 5, epochs 20\n\n")));
  }
}

// The table is above, and the rest follows on request.
TEST(ComparisonText, HasTheRestOnRequest) {
  const std::string text = comparison_text(sample_comparison(), kAnyWidth, Detail::kAll);
  const std::string answer = comparison_text(sample_comparison());
  ASSERT_TRUE(text.starts_with(answer));
  expect_golden(text.substr(answer.size()));
}

TEST(ComparisonText, HasOneLineOfDoubtWhereNoTimesAreCompared) {
  Comparison comparison = sample_comparison();
  comparison.groups.resize(1);
  comparison.warnings = {{warning::kCpuBusy, "THE CPU IS BUSY"},
                         {warning::kNotBetterThanBaseline, "the model is not better"},
                         {warning::kHighLoad, "HIGH LOAD"}};
  expect_golden(last_lines(comparison, 2));
  EXPECT_THAT(comparison_text(comparison, kAnyWidth, Detail::kAll), HasSubstr("WARNING: HIGH LOAD\n"));
}

TEST(ComparisonText, BeginsWithWhatSpoilsIt) {
  Comparison forced = sample_comparison(), different = forced, other = forced, partly = forced;
  forced.forced = different.differences = other.other_work = partly.other_work = {"one reason", "another"};
  other.groups[1].is_other_work = true;
  partly.groups.push_back(other.groups[1]);
  for (const Comparison& comparison : {forced, different, other, partly}) expect_golden(first_lines(comparison, 3));
}

TEST(ComparisonText, ShowsTheBestEpochBesideTheLastWhereTheyDiffer) {
  Comparison comparison = sample_comparison();
  GroupResult& naive = comparison.groups[0];
  naive.best_epochs = {3, 5};
  naive.best_metrics = naive.final_metrics;
  EXPECT_THAT(comparison_text(comparison, kAnyWidth, Detail::kAll), Not(HasSubstr("(last)")));
  naive.best_metrics["valid_loss"] = {0.125, 0.125, 0.125};
  EXPECT_THAT(comparison_text(comparison, kAnyWidth, Detail::kAll),
              HasSubstr("\nrun        best epoch  train loss  (last)  valid loss  (last)\n"
                        "---------  ----------  ----------  ------  ----------  ------\n"
                        "cpu naive      3 .. 5      0.5000  0.5000      0.1250  0.2500\n\n"));
  EXPECT_THAT(comparison_text(comparison, 50, Detail::kAll),
              AllOf(HasSubstr("best epoch  train loss  (last)\n"), HasSubstr("best epoch  valid loss  (last)\n")))
      << "an epoch's value stays beside the last one's";
}

TEST(ComparisonText, AlignsThePointsOfAMetric) {
  Comparison comparison = sample_comparison();
  for (auto [index, rmse] : {std::pair(0, 2.43), std::pair(1, 12.618)})
    comparison.groups[static_cast<size_t>(index)].final_metrics = {{"valid_rmse", {rmse, rmse, rmse}}};
  EXPECT_THAT(comparison_text(comparison), AllOf(HasSubstr("  2.430\n"), HasSubstr(" 12.618\n")));
}

// Returns a comparison with the naive run on two devices, which is a little less than twice as fast.
Comparison comparison_of_devices() {
  Comparison comparison = sample_comparison();
  GroupResult& two = comparison.groups[1];
  two.label = "cpu naive devices=2";
  two.ended = "complete";
  two.devices = 2;
  DeviceSpeed speed;
  speed.reference = "cpu naive";
  speed.speed_up = 1.75;
  speed.speed_up_low = 1.5;
  speed.speed_up_high = 2;
  speed.efficiency = 0.875;
  speed.efficiency_low = 0.75;
  speed.efficiency_high = 1;
  two.device_speed = speed;
  two.exchange_share = 0.0625;
  two.slowest_over_fastest = 1.03;
  return comparison;
}

TEST(ComparisonOfDevices, HasSpeedUpAndEfficiency) {
  const Comparison comparison = comparison_of_devices();
  expect_golden(last_lines(comparison, 5));
  EXPECT_THAT(comparison_csv(comparison), HasSubstr(",2.5e-06,2,1.75,1.5,2,0.875,0.75,1,0.0625,1.03,,,,,0,"));
  const auto json = nlohmann::json::parse(comparison_json(comparison));
  EXPECT_TRUE(json["groups"][0]["device_speed"].is_null());
  EXPECT_EQ(json["groups"][1]["devices"], 2);
  EXPECT_EQ(json["groups"][1]["device_speed"]["reference"], "cpu naive");
  EXPECT_EQ(json["groups"][1]["device_speed"]["efficiency_low"], 0.75);
}

// A spreadsheet would execute such texts as formulas. Numbers are not changed.
TEST(ComparisonCsv, HoldsNoTextThatIsAFormula) {
  Comparison comparison = sample_comparison();
  comparison.groups.resize(1);
  comparison.groups[0].label = "=cmd|' /c calc'!A1";
  comparison.groups[0].paths = {"@SUM(1, 2)"};
  comparison.groups[0].folders = {"-runs"};
  comparison.groups[0].ratio = -0.5;
  const std::string csv = comparison_csv(comparison);
  EXPECT_THAT(csv, HasSubstr("\n'=cmd|' /c calc'!A1,"));
  EXPECT_THAT(csv, HasSubstr(",\"'@SUM(1, 2)\",'-runs,"));
  EXPECT_THAT(csv, HasSubstr(",-0.5,"));
}

TEST(ComparisonCsv, HasALineForEachGroup) {
  Comparison comparison = sample_comparison();
  comparison.forced = {"one \"odd\" reason", "another"};
  comparison.groups[0].best_epochs = {5};
  comparison.groups[0].best_metrics = {{"valid_loss", {0.125, 0.125, 0.125}}};
  comparison.groups[1].is_other_work = true;
  comparison.other_work = {"model differs"};
  expect_golden(comparison_csv(comparison));
}

TEST(ComparisonJson, HoldsEverything) {
  Comparison comparison = sample_comparison();
  comparison.forced = {"precision differs"};
  const auto json = nlohmann::json::parse(comparison_json(comparison));
  EXPECT_EQ(json["schema_version"], 3);
  EXPECT_EQ(json["baseline"], "cpu naive");
  EXPECT_EQ(json["forced"][0], "precision differs");
  EXPECT_TRUE(json["groups"][0]["ratio"].is_null());
  EXPECT_EQ(json["groups"][1]["ratio"], 0.5625);
  EXPECT_EQ(json["groups"][1]["verdict"], "faster");
  EXPECT_TRUE(json["groups"][0]["verdict"].is_null());
  EXPECT_EQ(json["groups"][1]["num_processes"], 5);
  EXPECT_EQ(json["groups"][1]["is_paired"], true);
  EXPECT_EQ(json["groups"][1]["ended"], "diverged");
  EXPECT_EQ(json["groups"][1]["loss_agreement"]["epoch"], 5);
  EXPECT_TRUE(json["groups"][0]["loss_agreement"].is_null());
  EXPECT_EQ(json["groups"][0]["final_metrics"]["train_loss"]["high"], 0.6);
}

// ---- conditions that were held equal ----

class Held : public ComparedRuns {
 protected:
  std::string text() const { return held_equal_text(held_equal(runs_)); }
};

TEST_F(Held, EqualConditionsAreNamedWithTheirValue) {
  add_pair();
  EXPECT_THAT(text(),
              AllOf(HasSubstr("Held equal:\n  data "), HasSubstr("\n  batch size "), HasSubstr(" 128\n"),
                    HasSubstr("\n  usable CPUs "), Not(HasSubstr("Not held equal")), HasSubstr("Not recorded")));
  EXPECT_THAT(comparison_json(compared(), {.held_equal = held_equal(runs_)}),
              HasSubstr("\"held_equal\": {\n    \"equal\": ["));
}

TEST_F(Held, WeightsAreEqualSeedBySeed) {
  for (const int64_t seed : {1, 2})
    for (const char* layer : {"naive", "fused"})
      add(layer + std::to_string(seed), sample_run("cpu", layer, seed, {9, 1}));
  EXPECT_THAT(text(), HasSubstr("w1 (seed 1); w2 (seed 2)\n"));
}

TEST_F(Held, UnequalConditionsAreNamedWithAllTheirValues) {
  add_pair([](SampleRun& run) { run.environment.cpu.usable_cpus = 64; });
  EXPECT_THAT(text(), HasSubstr("\n  usable CPUs  2; 64\n"));
}

// Before version 3 different texts were hashed.
TEST_F(Held, HashesOfAnOldRunAreComputedAgain) {
  add_pair();
  runs_[1].summary.settings_sha256.clear();
  runs_[1].summary.identity.model_hash = runs_[1].summary.identity.training_hash = "of another text";
  EXPECT_THAT(held_equal(runs_).unequal, ::testing::IsEmpty());
}

TEST_F(Held, DevicesAreListedIfARunHasSeveral) {
  add("a", run_of_devices(1, 2));
  EXPECT_THAT(text(), Not(HasSubstr("devices")));
  add("b", run_of_devices(2, 1));
  EXPECT_THAT(text(), HasSubstr("\n  devices  1; 2\n"));
}

// ---- matrices of epochs ----

class Matrices : public ComparedRuns {
 protected:
  void add_run(const std::string& layer, const std::vector<double>& train_seconds) {
    add(fmt::format("{}{}", layer, runs_.size()), sample_run("cpu", layer, 1, train_seconds));
  }
  std::string text(size_t width = kAnyWidth) const {
    return epoch_matrices_text(epoch_matrices(runs_), compared(), width);
  }
};

TEST_F(Matrices, HaveARowForEachEpochAndAColumnForEachSide) {
  add_run("naive", {9, 2, 2.5});
  add_run("fused", {8, 1, 1.5});
  expect_golden(text());
}

TEST_F(Matrices, HaveColumnsBelowTheOthersOnANarrowTerminal) {
  add_run("naive", {9, 2});
  add_run("fused", {8, 1});
  expect_golden(lines_from(text(20), 0, 11));
}

TEST_F(Matrices, OfSeveralProcessesHaveTheGeometricMeanAsTheComparisonHas) {
  for (const double seconds : {1.0, 16.0, 4.0}) add_run("naive", {9, seconds});
  EXPECT_DOUBLE_EQ(*epoch_matrices(runs_).train_seconds[1][0], 4.0);
  expect_golden(lines_from(text(), -1, 1));
}

TEST_F(Matrices, HaveAGapWhereARunWasShorter) {
  add_run("naive", {9, 2, 2});
  add_run("fused", {8, 1});
  EXPECT_EQ(epoch_matrices(runs_).train_seconds[2][1], std::nullopt);
  EXPECT_THAT(text(), HasSubstr("    3     2.000          -\n"));
  expect_golden(lines_from(text(), -1, 1));
}

TEST_F(Matrices, SayFromWhereOnFewerRunsStandForACell) {
  add_run("naive", {9, 2, 2});
  add_run("naive", {9, 4});
  EXPECT_EQ(epoch_matrices(runs_).train_seconds[2][0], 2.0);
  expect_golden(lines_from(text(), -1, 1));
}

TEST_F(Matrices, HaveNoNumberWhereARunDiverged) {
  add_run("naive", {9, 2});
  add_run("naive", {9, 2});
  runs_[1].rows[1].train_loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(text(), HasSubstr("    2        nan\n"));
}

TEST_F(Matrices, AreInCsvAndJson) {
  add_run("naive", {9, 2});
  add_run("fused", {8});
  const EpochMatrices matrices = epoch_matrices(runs_);
  const std::string csv = epoch_matrices_csv(matrices, compared());
  EXPECT_THAT(csv, AllOf(::testing::StartsWith("label,epoch,num_runs,is_warmup,train_seconds,train_loss,forced,"),
                         HasSubstr("\ncpu naive,1,1,1,9,0.5,"), HasSubstr("\ncpu naive,2,1,0,2,0.5,"),
                         Not(HasSubstr("\ncpu fused,2,"))));
  const auto json = nlohmann::json::parse(comparison_json(compared(), {.epoch_matrices = matrices}))["epoch_matrices"];
  EXPECT_EQ(json["labels"], nlohmann::json({"cpu naive", "cpu fused"}));
  EXPECT_EQ(json["epochs"], nlohmann::json({1, 2}));
  EXPECT_EQ(json["train_seconds"], nlohmann::json({{9.0, 8.0}, {2.0, nullptr}}));
  EXPECT_EQ(json["is_warmup"], nlohmann::json({{true, true}, {false, false}}));
}

}  // namespace
}  // namespace rnnlab::testing
