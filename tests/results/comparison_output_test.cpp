// SPDX-License-Identifier: Apache-2.0
#include "results/comparison_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/system/temporary_folder.h"
#include "base/text.h"
#include "golden.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
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

TEST(ComparisonLegend, SaysNothingOfIntervalsThatAreThere) {
  EXPECT_THAT(legend_of(sample_comparison()), ::testing::IsEmpty());
}

TEST(ComparisonLegend, SaysWhereOneProcessGivesNoInterval) {
  Comparison comparison = sample_comparison();
  take_for_one_process(comparison.groups[1]);
  expect_golden(legend_of(comparison));
  take_for_one_process(comparison.groups[0]);
  expect_golden(legend_of(comparison)[0]);
  comparison.groups[0].num_processes = 2;
  expect_golden(legend_of(comparison)[0]);
}

TEST(ComparisonTable, HasNoVerdictForOneProcess) {
  Comparison comparison = sample_comparison();
  take_for_one_process(comparison.groups[1]);
  const std::vector<std::string>& cells = time_table(comparison).rows()[1];
  EXPECT_THAT(std::vector(cells.begin() + 2, cells.begin() + 10),
              ::testing::ElementsAre("1", "30", "1.250", "1.000 .. 1.500*", "0.562", "-", "-", "-"));
}

TEST(ComparisonTable, HasNoSpreadOfOneEpoch) {
  Comparison comparison = sample_comparison();
  take_for_one_process(comparison.groups[1]);
  comparison.groups[1].num_timed_epochs = 1;
  comparison.groups[1].low_seconds = comparison.groups[1].high_seconds = comparison.groups[1].seconds;
  EXPECT_EQ(time_table(comparison).rows()[1][5], "1.250*");
}

TEST(ComparisonTable, SaysThatNoDifferenceIsShown) {
  Comparison comparison = sample_comparison();
  comparison.groups[1].verdict = TimeVerdict::kNoDifference;
  EXPECT_EQ(time_table(comparison).rows()[1][9], "no difference");
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
  EXPECT_THAT(comparison_text(comparison),
              ::testing::EndsWith("cpu naive reached valid_accuracy 0.98 after 12.25 s of training, with warm-up and "
                                  "without validation (95 % interval 11.50 .. 13.00 over 5 runs)\n"
                                  "4 of 5 runs of cpu fused reached valid_accuracy 0.98\n"));
}

TEST(ComparisonText, CutsLongLabelsInTheTableAndGivesThemBelow) {
  Comparison comparison = sample_comparison();
  comparison.groups[1].label = "cpu fused learning_rate=0.001 schedule=cosine";
  const std::string text = comparison_text(comparison);
  EXPECT_NE(text.find("\n1: cpu naive            "), std::string::npos) << text;
  EXPECT_NE(text.find("\n2: cpu fused learning_r...  1 "), std::string::npos) << text;
  EXPECT_NE(text.find("\n\n1: cpu naive\n2: cpu fused learning_rate=0.001 schedule=cosine (diverged)\n\n"),
            std::string::npos)
      << text;
  comparison.groups[1].label = "runs/rows/2026-11-21T13-06-20Z-cuda0-fused";
  EXPECT_NE(comparison_text(comparison).find("\n2: cuda0-fused "), std::string::npos);
}

TEST(ComparisonText, FitsATerminalOfEightyColumns) {
  const std::string text = comparison_text(sample_comparison(), 80);
  EXPECT_THAT(text, ::testing::StartsWith(
                        "run                   s/epoch   95 % interval     ratio   95 % interval  verdict\n"
                        "--------------------  -------  --------------  --------  --------------  -------\n"
                        "cpu naive               2.250  2.000 .. 2.500  baseline               -        -\n"
                        "cpu fused (diverged)    1.250  1.000 .. 1.500     0.562  0.500 .. 0.625   faster\n"
                        "in each row: processes 5\n"
                        "left out, because the terminal is narrow: seeds, epochs and p (compare --csv has them)\n"
                        "\n"
                        "run                   train loss  valid loss\n"
                        "--------------------  ----------  ----------\n"
                        "cpu naive                 0.5000      0.2500\n"
                        "cpu fused (diverged)      0.5000           -\n"
                        "\n"
                        "cpu fused is 1.78 times as fast as cpu naive (95 % interval 1.6 to 2).\n"));
}

TEST(ComparisonText, LeavesOutItsIntervalsOnANarrowTerminal) {
  const std::string text = comparison_text(sample_comparison(), 50);
  EXPECT_THAT(text, ::testing::StartsWith("run                   s/epoch     ratio  verdict\n"));
  EXPECT_THAT(text, HasSubstr("\nleft out, because the terminal is narrow: seeds, epochs, 95 % interval of s/epoch, "
                              "95 % interval of ratio and p (compare --csv has them)\n"));
  for (const std::string& line : split(text.substr(0, text.find("left out")), '\n'))
    EXPECT_LE(display_width(line), 50u) << line;
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
    const std::string text = comparison_text(comparison, 100);
    EXPECT_THAT(text, ::testing::StartsWith("run        s/epoch  "));
    EXPECT_THAT(text, HasSubstr("\nin each row: seeds 1, processes 5, epochs 20\n\n"));
  }
}

const std::string kWholeTable =
    "run                   seeds  processes  epochs  s/epoch   95 % interval     ratio   95 % interval       p  "
    "verdict  train loss  valid loss\n"
    "--------------------  -----  ---------  ------  -------  --------------  --------  --------------  ------  "
    "-------  ----------  ----------\n"
    "cpu naive             1,2            5      60    2.250  2.000 .. 2.500  baseline               -       -  "
    "      -      0.5000      0.2500\n"
    "cpu fused (diverged)  1              5      30    1.250  1.000 .. 1.500     0.562  0.500 .. 0.625  0.0079  "
    " faster      0.5000           -\n"
    "\n"
    "cpu fused is 1.78 times as fast as cpu naive (95 % interval 1.6 to 2).\n";

TEST(ComparisonText, IsTheTableTheAnswerAndTheWarnings) {
  EXPECT_EQ(comparison_text(sample_comparison()), kWholeTable);
  Comparison comparison = sample_comparison();
  comparison.warnings = {{warning::kCpuBusy, "cpu naive: THE CPU IS BUSY"}, {warning::kLossesPart, "losses differ"}};
  expect_golden(comparison_text(comparison));
}

TEST(ComparisonText, HasTheRestOnRequest) {
  expect_golden(comparison_text(sample_comparison(), kAnyWidth, Detail::kAll));
}

TEST(ComparisonText, HasOneLineOfDoubtWhereNoTimesAreCompared) {
  Comparison comparison = sample_comparison();
  comparison.groups.resize(1);
  comparison.warnings = {{warning::kCpuBusy, "THE CPU IS BUSY"},
                         {warning::kNotBetterThanBaseline, "the model is not better"},
                         {warning::kHighLoad, "the load average was 6.0"}};
  EXPECT_THAT(comparison_text(comparison),
              ::testing::EndsWith("\nWARNING: the model is not better\n"
                                  "WARNING: do not rely on these times: THE CPU IS BUSY (and 1 more reason, which "
                                  "--verbose shows)\n"));
  EXPECT_THAT(comparison_text(comparison, kAnyWidth, Detail::kAll), HasSubstr("WARNING: the load average was 6.0\n"));
}

TEST(ComparisonText, BeginsWithWhatSpoilsIt) {
  Comparison comparison = sample_comparison();
  comparison.forced = {"precision: fp32 in cpu naive, tf32 in cpu fused"};
  EXPECT_THAT(comparison_text(comparison), ::testing::StartsWith("FORCED: this is not a fair comparison.\n"
                                                                 "  precision: fp32 in cpu naive, tf32 in cpu fused\n"
                                                                 "\n"
                                                                 "run  "));
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

TEST(ComparisonText, HasATableOfSpeedUps) {
  EXPECT_THAT(
      comparison_text(comparison_of_devices()),
      ::testing::HasSubstr(
          "\n\n"
          "run                  devices  against  speed-up  95 % interval  efficiency    95 % interval  exchange  "
          "slowest\n"
          "-------------------  -------  -------  --------  -------------  ----------  ---------------  --------  "
          "-------\n"
          "cpu naive devices=2        2        1      1.75   1.50 .. 2.00      87.5 %  75.0 .. 100.0 %     6.2 %   "
          "+3.0 %\n"
          "\n"
          "speed-up: over the same work on the fewest devices; efficiency: "));
}

TEST(ComparisonCsv, HasSpeedUpAndEfficiency) {
  EXPECT_THAT(comparison_csv(comparison_of_devices()),
              ::testing::HasSubstr(",2.5e-06,2,1.75,1.5,2,0.875,0.75,1,0.0625,1.03,,,,,0,"));
}

TEST(ComparisonJson, HasSpeedUpAndEfficiency) {
  const auto json = nlohmann::json::parse(comparison_json(comparison_of_devices()));
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
  EXPECT_THAT(csv, ::testing::HasSubstr("\n'=cmd|' /c calc'!A1,"));
  EXPECT_THAT(csv, ::testing::HasSubstr(",\"'@SUM(1, 2)\",'-runs,"));
  EXPECT_THAT(csv, ::testing::HasSubstr(",-0.5,"));
}

TEST(ComparisonText, HoldsNothingThatATerminalObeys) {
  Comparison comparison;
  comparison.warnings = {{warning::kLossesPart, "a\x1b[2Jb"}};
  EXPECT_THAT(comparison_text(comparison), ::testing::HasSubstr("a\\x1b[2Jb\n"));
}

TEST(ComparisonText, ReportsDifferencesWithoutTheWordForced) {
  Comparison comparison = sample_comparison();
  comparison.groups.clear();
  comparison.differences = {"batch size: 64 in cpu fused batch_size=64, 128 in cpu fused batch_size=128"};
  EXPECT_TRUE(comparison_text(comparison)
                  .starts_with("NOTICE: these runs differ in more than the device and the layer.\n"
                               "  batch size: 64 in cpu fused batch_size=64, 128 in cpu fused batch_size=128\n\n"));
}

TEST(ComparisonText, BeginsWithWhyTimesHaveNoRatio) {
  Comparison comparison = sample_comparison();
  for (size_t i = 1; i < comparison.groups.size(); ++i) comparison.groups[i].is_other_work = true;
  comparison.other_work = {"model: model.cell=lstm in cpu naive, model.cell=gru in cpu fused"};
  EXPECT_TRUE(comparison_text(comparison)
                  .starts_with("NOTICE: these runs did different work, so their times have no ratio, p or verdict "
                               "(--force shows them).\n"
                               "  model: model.cell=lstm in cpu naive, model.cell=gru in cpu fused\n\n"));
}

TEST(ComparisonText, BeginsWithWhichTimesHaveNoRatioIfSomeHaveOne) {
  Comparison comparison = sample_comparison();
  comparison.groups.push_back(comparison.groups.back());
  comparison.groups.back().is_other_work = true;
  comparison.other_work = {"model: model.cell=lstm in cpu naive, model.cell=gru in cpu fused"};
  EXPECT_TRUE(comparison_text(comparison)
                  .starts_with("NOTICE: rows without a ratio did other work than the baseline (--force shows their "
                               "ratios).\n"));
}

TEST(ComparisonText, ShowsTheBestEpochBesideTheLastWhereTheyDiffer) {
  Comparison comparison = sample_comparison();
  GroupResult& naive = comparison.groups[0];
  naive.best_epochs = {3, 5};
  naive.best_metrics = naive.final_metrics;
  EXPECT_THAT(comparison_text(comparison, kAnyWidth, Detail::kAll), Not(HasSubstr("best epoch")));
  naive.best_metrics["valid_loss"] = {0.125, 0.125, 0.125};
  EXPECT_THAT(comparison_text(comparison, kAnyWidth, Detail::kAll),
              HasSubstr("\nThe best epoch, whose weights predict and evaluate use, beside the last epoch:\n"
                        "run        best epoch  train loss  (last)  valid loss  (last)\n"
                        "---------  ----------  ----------  ------  ----------  ------\n"
                        "cpu naive      3 .. 5      0.5000  0.5000      0.1250  0.2500\n\n"));
  EXPECT_THAT(comparison_text(comparison, 50, Detail::kAll),
              AllOf(HasSubstr("\nrun        best epoch  train loss  (last)\n"),
                    HasSubstr("\nrun        best epoch  valid loss  (last)\n")))
      << "an epoch's value stays beside the last one's";
}

TEST(ComparisonText, AlignsThePointsOfAMetric) {
  Comparison comparison = sample_comparison();
  for (auto [index, rmse] : {std::pair(0, 2.43), std::pair(1, 12.618)})
    comparison.groups[static_cast<size_t>(index)].final_metrics = {{"valid_rmse", {rmse, rmse, rmse}}};
  EXPECT_THAT(comparison_text(comparison), AllOf(HasSubstr("  2.430\n"), HasSubstr(" 12.618\n")));
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

}  // namespace

namespace {

class Held : public ::testing::Test {
 protected:
  void add(const std::string& name, const SampleRun& run) {
    run.write(folder_.path() / name);
    runs_.push_back(load_run(folder_.path() / name));
  }
  std::string text() const { return held_equal_text(held_equal(runs_)); }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

TEST_F(Held, EqualConditionsAreNamedWithTheirValue) {
  add("a", sample_run("cpu", "naive", 1, {9, 1, 1}));
  add("b", sample_run("cpu", "fused", 1, {9, 2, 2}));
  EXPECT_THAT(text(), AllOf(HasSubstr("Held equal:\n  data "), HasSubstr("\n  batch size "), HasSubstr(" 128\n"),
                            HasSubstr("\n  usable CPUs "), Not(HasSubstr("Not held equal"))));
  EXPECT_THAT(text(), HasSubstr("Not recorded by every run: "));
}

TEST_F(Held, WeightsAreEqualSeedBySeed) {
  for (const int64_t seed : {1, 2})
    for (const char* layer : {"naive", "fused"})
      add(layer + std::to_string(seed), sample_run("cpu", layer, seed, {9, 1}));
  EXPECT_THAT(text(), HasSubstr("w1 (seed 1); w2 (seed 2)\n"));
}

TEST_F(Held, UnequalConditionsAreNamedWithAllTheirValues) {
  add("a", sample_run("cpu", "naive", 1, {9, 1, 1}));
  SampleRun other = sample_run("cpu", "fused", 1, {9, 2, 2});
  other.environment.cpu.usable_cpus = 64;
  add("b", other);
  EXPECT_THAT(text(), HasSubstr("Not held equal:\n  usable CPUs  2; 64\n"));
}

// Before version 3 different texts were hashed.
TEST_F(Held, HashesOfAnOldRunAreComputedAgain) {
  add("a", sample_run("cpu", "naive", 1, {9, 1, 1}));
  add("b", sample_run("cpu", "fused", 1, {9, 2, 2}));
  runs_[1].summary.settings_sha256.clear();
  runs_[1].summary.identity.model_hash = runs_[1].summary.identity.training_hash = "of another text";
  EXPECT_THAT(text(), Not(HasSubstr("Not held equal")));
}

TEST_F(Held, DevicesAreListedIfARunHasSeveral) {
  add("a", run_of_devices(1, 2));
  EXPECT_THAT(text(), Not(HasSubstr("devices")));
  add("b", run_of_devices(2, 1));
  EXPECT_THAT(text(), HasSubstr("Not held equal:\n  devices  1; 2\n"));
}

TEST_F(Held, TheJsonOfAComparisonHasThemAsAField) {
  add("a", sample_run("cpu", "naive", 1, {9, 1, 1}));
  EXPECT_THAT(comparison_json(compare(runs_, {}), {.held_equal = held_equal(runs_)}),
              AllOf(HasSubstr("\"baseline\": \"cpu naive\""), HasSubstr("\"held_equal\": {\n    \"equal\": [")));
}

}  // namespace

namespace {

class Matrices : public ::testing::Test {
 protected:
  void add(const std::string& layer, const std::vector<double>& train_seconds) {
    const auto folder = folder_.path() / fmt::format("{}{}", layer, runs_.size());
    sample_run("cpu", layer, 1, train_seconds).write(folder);
    runs_.push_back(load_run(folder));
  }
  std::string text(size_t width = kAnyWidth) const {
    return epoch_matrices_text(epoch_matrices(runs_), compare(runs_, {}), width);
  }
  std::string csv() const { return epoch_matrices_csv(epoch_matrices(runs_), compare(runs_, {})); }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

TEST_F(Matrices, HaveARowForEachEpochAndAColumnForEachSide) {
  add("naive", {9, 2, 2.5});
  add("fused", {8, 1, 1.5});
  expect_golden(text());
}

TEST_F(Matrices, HaveColumnsBelowTheOthersOnANarrowTerminal) {
  add("naive", {9, 2});
  add("fused", {8, 1});
  EXPECT_THAT(text(20), ::testing::StartsWith("Training seconds by epoch:\n"
                                              "epoch  cpu naive\n"
                                              "-----  ---------\n"
                                              "    1     9.000*\n"
                                              "    2     2.000\n"
                                              "\n"
                                              "epoch  cpu fused\n"
                                              "-----  ---------\n"
                                              "    1     8.000*\n"
                                              "    2     1.000\n"
                                              "\n"
                                              "Train loss by epoch:\n"
                                              "epoch  cpu naive\n"));
}

TEST_F(Matrices, OfSeveralProcessesHaveTheGeometricMeanAsTheComparisonHas) {
  for (const double seconds : {1.0, 16.0, 4.0}) add("naive", {9, seconds});
  EXPECT_DOUBLE_EQ(*epoch_matrices(runs_).train_seconds[1][0], 4.0);
  EXPECT_THAT(text(), EndsWith("cpu naive: times are the geometric mean, losses the median of 3 runs\n"));
}

TEST_F(Matrices, HaveAGapWhereARunWasShorter) {
  add("naive", {9, 2, 2});
  add("fused", {8, 1});
  EXPECT_EQ(epoch_matrices(runs_).train_seconds[2][1], std::nullopt);
  EXPECT_THAT(text(), HasSubstr("    3     2.000          -\n"));
  EXPECT_THAT(text(), EndsWith("- no run finished this epoch\n"));
}

TEST_F(Matrices, SayFromWhereOnFewerRunsStandForACell) {
  add("naive", {9, 2, 2});
  add("naive", {9, 4});
  EXPECT_EQ(epoch_matrices(runs_).train_seconds[2][0], 2.0);
  EXPECT_THAT(
      text(),
      EndsWith("cpu naive: times are the geometric mean, losses the median of 2 runs, from epoch 3 on of fewer\n"));
}

TEST_F(Matrices, HaveNoNumberWhereARunDiverged) {
  add("naive", {9, 2});
  add("naive", {9, 2});
  runs_[1].rows[1].train_loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(text(), HasSubstr("    2        nan\n"));
}

TEST_F(Matrices, AreALineForEachCellAsCsv) {
  add("naive", {9, 2});
  add("fused", {8});
  EXPECT_THAT(csv(), ::testing::StartsWith("label,epoch,num_runs,is_warmup,train_seconds,train_loss,forced,warnings,"
                                           "differences\n"
                                           "cpu naive,1,1,1,9,0.5,"));
  EXPECT_THAT(csv(), HasSubstr("\ncpu naive,2,1,0,2,0.5,"));
  EXPECT_THAT(csv(), Not(HasSubstr("\ncpu fused,2,")));
}

TEST_F(Matrices, AreAFieldOfAComparisonsJson) {
  add("naive", {9, 2});
  add("fused", {8});
  const auto json =
      nlohmann::json::parse(comparison_json(compare(runs_, {}), {.epoch_matrices = epoch_matrices(runs_)}));
  EXPECT_EQ(json["epoch_matrices"]["labels"], nlohmann::json({"cpu naive", "cpu fused"}));
  EXPECT_EQ(json["epoch_matrices"]["epochs"], nlohmann::json({1, 2}));
  EXPECT_EQ(json["epoch_matrices"]["train_seconds"], nlohmann::json({{9.0, 8.0}, {2.0, nullptr}}));
  EXPECT_EQ(json["epoch_matrices"]["is_warmup"], nlohmann::json({{true, true}, {false, false}}));
}

}  // namespace

}  // namespace rnnlab::testing
