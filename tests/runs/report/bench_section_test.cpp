// SPDX-License-Identifier: Apache-2.0
#include "runs/report/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "runs/bench/sample_report.h"
#include "runs/report/sample_sources.h"

namespace rnnlab::report {
namespace {

using ::testing::ElementsAre;
using testing::ids;
using testing::measured_row;
using testing::sample_report;

BenchReport ladder() {
  BenchReport report = sample_report();
  report.rows = {measured_row(LayerKind::kNaive, 0.4, 1, 1.2), measured_row(LayerKind::kGrouped, 0.3, 0.8, 0.9),
                 measured_row(LayerKind::kHoisted, 0.35, 0.9, 1), measured_row(LayerKind::kFused, 0.2, 0.5, 0.6)};
  return report;
}

TEST(BenchAnswer, IsHowManyTimesAsFastTheFastestLayerIs) {
  const Answer answer = answer_of({"ladder.json", sample_report()});
  expect_golden(answer.sentence);
}

TEST(BenchCharts, ShowTheLadderAsWaterfalls) {
  const auto charts = bench_charts(ladder(), "ladder");
  EXPECT_THAT(ids(charts), ElementsAre("ladder-ladder-forward", "ladder-ladder-total", "ladder-times-forward",
                                       "ladder-times-total"));
  const auto& steps = std::get<Waterfall>(charts[1].body).steps;
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].label, "naive");
  EXPECT_EQ(steps[0].kind, StepKind::kWhole);
  EXPECT_EQ(steps[0].to, 1200);
  EXPECT_EQ(steps[1].kind, StepKind::kGain);
  EXPECT_EQ(steps[1].from, 1200);
  EXPECT_EQ(steps[1].to, 900);
  EXPECT_EQ(steps[2].kind, StepKind::kLoss);
  EXPECT_EQ(steps[2].from, 900);
  EXPECT_EQ(steps[2].to, 1000);
  // fused is not a step of the ladder.
  EXPECT_EQ(steps[3].kind, StepKind::kWhole);
  EXPECT_EQ(steps[3].from, 0);
}

TEST(BenchCharts, ShowTheStepsOfOptimisationsAsALadder) {
  for (const LayerKind kind : layer_kinds()) {
    BenchReport report = sample_report();
    report.rows = {measured_row(LayerKind::kNaive, 0.4, 1, 1.2), measured_row(kind, 0.3, 0.8, 0.9)};
    const bool has_ladder = ids(bench_charts(report, "b"))[0] == "b-ladder-forward";
    EXPECT_EQ(has_ladder, info_of(kind).is_optimisation_step) << config::name_of(kind);
  }
}

TEST(BenchCharts, NeedTwoStepsForALadder) {
  EXPECT_THAT(ids(bench_charts(sample_report(), "b")), ElementsAre("b-times-forward", "b-times-total"));
}

TEST(BenchCharts, ShowASweepAsAHeatMapForEachLayer) {
  BenchReport report = sample_report();
  report.rows.clear();
  for (const int64_t hidden_size : {64, 128})
    for (const int64_t batch_size : {8, 16})
      for (const LayerKind layer : {LayerKind::kNaive, LayerKind::kFused}) {
        BenchRow row = measured_row(layer, 0.4, 1, 1.2);
        row.key.hidden_size = row.key.input_size = hidden_size;
        row.key.batch_size = batch_size;
        const auto gain = static_cast<double>(hidden_size + batch_size);
        row.measurement->speedup_total = Estimate{gain, gain, gain};
        report.rows.push_back(row);
      }
  report.rows.back().measurement.reset();
  const auto charts = bench_charts(report, "sweep");
  EXPECT_THAT(ids(charts),
              ElementsAre("sweep-sweep-naive", "sweep-sweep-fused", "sweep-times-forward", "sweep-times-total"));
  const auto& times = std::get<HeatMap>(charts[0].body);
  EXPECT_THAT(times.rows, ElementsAre("H 64", "H 128"));
  EXPECT_THAT(times.columns, ElementsAre("8", "16"));
  EXPECT_EQ(times.value.unit, "ms");
  EXPECT_THAT(times.cells[0], ElementsAre(1200, 1200));
  const auto& gains = std::get<HeatMap>(charts[1].body);
  EXPECT_EQ(gains.value.name, "gain over naive");
  EXPECT_THAT(gains.cells[0], ElementsAre(72, 80));
  EXPECT_THAT(gains.cells[1], ElementsAre(136, std::nullopt));
}

BenchRow sized(int64_t hidden_size, int64_t input_size, bool bidirectional) {
  BenchRow row = measured_row(LayerKind::kNaive, 0.4, 1, 1.2);
  row.key.hidden_size = hidden_size;
  row.key.input_size = input_size;
  row.key.bidirectional = bidirectional;
  return row;
}

TEST(BenchCharts, HaveAPlaceForWhatIsUsualAndGoesWithoutSaying) {
  BenchReport report = sample_report();
  report.rows = {sized(8, 8, false), sized(16, 8, false), sized(8, 8, true), sized(16, 8, true)};
  const auto across_directions = std::get<HeatMap>(bench_charts(report, "b")[0].body);
  EXPECT_THAT(across_directions.columns, ElementsAre("D 1", "2"));
  EXPECT_THAT(across_directions.rows, ElementsAre("H 8", "I 8 H 16"));
  EXPECT_THAT(across_directions.cells[1], ElementsAre(1200, 1200));

  report.rows = {sized(8, 8, false), sized(8, 4, false), sized(8, 8, true), sized(8, 4, true)};
  EXPECT_THAT(std::get<HeatMap>(bench_charts(report, "b")[0].body).rows, ElementsAre("I = H", "I 4"));
}

TEST(BenchCharts, AreNoneWhereNothingWasMeasured) { EXPECT_TRUE(bench_charts(BenchReport{}, "b").empty()); }

}  // namespace
}  // namespace rnnlab::report
