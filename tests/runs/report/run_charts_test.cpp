// SPDX-License-Identifier: Apache-2.0
#include "runs/report/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "results/sample_runs.h"
#include "runs/report/sample_sources.h"

namespace rnnlab::report {
namespace {

using ::testing::ElementsAre;
using testing::ids;
using testing::naive_and_fused;
using testing::read_back;
using testing::sample_run;
using testing::SampleRun;

TEST(RunCharts, DrawEpochTimesByEpochAndByWallTime) {
  const auto runs = read_back(naive_and_fused());
  const auto charts = time_curves(group_runs(runs), "rows");
  expect_golden(ids(charts));
  const auto& by_epoch = std::get<Curves>(charts[0].body).curves;
  ASSERT_EQ(by_epoch.size(), 2U);
  EXPECT_EQ(by_epoch[0].name, "cpu naive");
  EXPECT_EQ(by_epoch[0].points[0].note, "warm-up");
  EXPECT_EQ(by_epoch[0].points[1].note, "");
  EXPECT_EQ(by_epoch[0].points[1].x, 2);
  EXPECT_EQ(by_epoch[0].points[1].y, 2);
  // Validation takes 0.125 s an epoch.
  const auto& by_wall_time = std::get<Curves>(charts[1].body).curves;
  EXPECT_EQ(by_wall_time[0].points[0].x, 9.125);
  EXPECT_EQ(by_wall_time[0].points[1].x, 11.25);
}

TEST(RunCharts, HaveACurveForEachSeedUnderTheNameOfTheirGroup) {
  const auto runs = read_back({sample_run("cpu", "naive", 1, {2, 2}), sample_run("cpu", "naive", 2, {2, 2}),
                               sample_run("cpu", "naive", 2, {2, 2})});
  const auto groups = group_runs(runs);
  EXPECT_THAT(run_names(groups[0]), ElementsAre("cpu naive, seed 1", "cpu naive, seed 2", "cpu naive, seed 2 (2)"));
  const auto charts = time_curves(groups, "rows");
  for (const Curve& curve : std::get<Curves>(charts[0].body).curves) EXPECT_EQ(curve.group, "cpu naive");
}

TEST(RunCharts, DrawSpeedUpsBesideTheIdealLine) {
  const testing::TemporaryFolder folder;
  const auto runs = testing::in_rounds(
      {testing::run_of_devices(1, 2), testing::run_of_devices(2, 1.25), testing::run_of_devices(4, 1)}, {1, 1.1, 1.02},
      folder);
  const auto charts = speed_up_curves(compare(runs, {}), "rows");
  EXPECT_THAT(ids(charts), ElementsAre("rows-speed-up"));
  const auto& curves = std::get<Curves>(charts[0].body).curves;
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].name, "over cpu fused devices=1");
  ASSERT_EQ(curves[0].points.size(), 3u);
  EXPECT_EQ(curves[0].points[0].x, 1);
  EXPECT_EQ(curves[0].points[0].y, 1);
  EXPECT_EQ(curves[0].points[1].x, 2);
  EXPECT_NEAR(curves[0].points[1].y, 1.6, 1e-9);
  EXPECT_NEAR(curves[0].points[1].interval->low, 1.6, 1e-9);
  EXPECT_NEAR(curves[0].points[2].y, 2, 1e-9);
  EXPECT_EQ(curves[1].name, "ideal");
  for (const Point& point : curves[1].points) EXPECT_EQ(point.y, point.x);
  EXPECT_EQ(curves[1].points.back().x, 4);
}

TEST(RunCharts, DrawNoSpeedUpOfOneNumberOfDevices) {
  EXPECT_THAT(speed_up_curves(compare(read_back(naive_and_fused()), {}), "rows"), ::testing::IsEmpty());
}

TEST(RunCharts, DrawLossesAndWhatValidationSays) {
  const auto runs = read_back(naive_and_fused());
  expect_golden(ids(metric_curves(group_runs(runs), "rows")));
}

TEST(RunCharts, HaveBarsWithTheNumbersOfTheComparison) {
  const auto runs = read_back(naive_and_fused());
  const Comparison comparison = compare(runs, {});
  const auto charts = time_bars(comparison, "rows");
  EXPECT_THAT(ids(charts), ElementsAre("rows-median-epoch-time", "rows-ratio"));
  const auto& times = std::get<Bars>(charts[0].body).bars;
  const auto& ratios = std::get<Bars>(charts[1].body).bars;
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i].label, comparison.groups[i].label);
    EXPECT_EQ(times[i].value, comparison.groups[i].seconds);
    EXPECT_EQ(times[i].interval->low, comparison.groups[i].low_seconds);
    EXPECT_EQ(times[i].interval->high, comparison.groups[i].high_seconds);
  }
  EXPECT_EQ(ratios[0].value, 1);
  EXPECT_FALSE(ratios[0].interval);
  EXPECT_EQ(ratios[1].value, comparison.groups[1].ratio);
  EXPECT_FALSE(ratios[1].interval);  // of one process a side there is none
}

TEST(RunCharts, HaveWhiskersOnRatiosWithAnInterval) {
  const auto runs = read_back(naive_and_fused());
  Comparison comparison = compare(runs, {});
  comparison.groups[1].ratio_low = 0.4;
  comparison.groups[1].ratio_high = 0.6;
  const auto charts = time_bars(comparison, "rows");
  const auto& ratios = std::get<Bars>(charts[1].body).bars;
  EXPECT_EQ(ratios[1].interval->low, 0.4);
  EXPECT_EQ(ratios[1].interval->high, 0.6);
}

TEST(RunCharts, TakeALogarithmicScaleForTimesThatAreFarApart) {
  const auto runs = read_back({sample_run("cpu", "naive", 1, {30, 30}), sample_run("cpu", "fused", 1, {1, 1})});
  EXPECT_EQ(std::get<Curves>(time_curves(group_runs(runs), "rows")[0].body).y.scale, Scale::kLogarithmic);
  const auto near = read_back(naive_and_fused());
  EXPECT_EQ(std::get<Curves>(time_curves(group_runs(near), "rows")[0].body).y.scale, Scale::kLinear);
}

testing::SampleRun swept(const std::string& layer, const std::string& batch_size, double seconds) {
  testing::SampleRun run = sample_run("cpu", layer, 1, std::vector<double>(7, seconds));
  run.config.replace(run.config.find("batch_size: 128"), 15, "batch_size: " + batch_size);
  run.summary.identity.batch_size = std::stoll(batch_size);
  return run;
}

TEST(RunCharts, ShowASweepAsAHeatMap) {
  const auto runs = read_back({swept("naive", "32", 4), swept("naive", "64", 3), swept("fused", "32", 2)});
  const Comparison comparison = compare(runs, {.on_difference = OnDifference::kForce});
  const auto charts = sweep_maps(group_runs(runs), comparison, "rows");
  ASSERT_EQ(charts.size(), 1U);
  const auto& map = std::get<HeatMap>(charts[0].body);
  EXPECT_EQ(map.x.name, "training.batch_size");
  EXPECT_THAT(map.columns, ElementsAre("32", "64"));
  EXPECT_THAT(map.rows, ElementsAre("cpu naive", "cpu fused"));
  EXPECT_THAT(map.cells[0], ElementsAre(4, 3));
  EXPECT_THAT(map.cells[1], ElementsAre(2, std::nullopt));
}

TEST(RunCharts, PoolTheProcessesOfACellOfTheSweepAndSaySo) {
  const auto map_of = [](const std::vector<RunRecord>& runs) {
    const Comparison comparison = compare(runs, {.on_difference = OnDifference::kForce});
    return sweep_maps(group_runs(runs), comparison, "rows").at(0);
  };
  const std::vector<SampleRun> once = {swept("naive", "32", 4), swept("naive", "64", 3), swept("fused", "32", 2)};
  expect_golden(map_of(read_back(once)).title);
  const testing::TemporaryFolder folder;
  const auto runs = testing::in_rounds(once, {1, 4}, folder);
  const Chart chart = map_of(runs);
  expect_golden(chart.title);
  const auto& map = std::get<HeatMap>(chart.body);
  EXPECT_NEAR(*map.cells[0][0], 8, 1e-9);  // of 4 and 16
  EXPECT_NEAR(*map.cells[1][0], 4, 1e-9);
  auto fewer = runs;
  fewer.pop_back();
  expect_golden(map_of(fewer).title);
}

TEST(RunCharts, ShowNoHeatMapWhereACellWouldHaveTwoTimes) {
  testing::SampleRun of_another_revision = swept("naive", "32", 5);
  of_another_revision.environment.build.git_revision = "another";
  const auto runs = read_back({swept("naive", "32", 1), swept("naive", "64", 3), swept("fused", "32", 2),
                               swept("fused", "64", 2), of_another_revision});
  const Comparison comparison = compare(runs, {.on_difference = OnDifference::kForce});
  EXPECT_TRUE(sweep_maps(group_runs(runs), comparison, "rows").empty());
}

TEST(RunCharts, ShowNoHeatMapOfLayersAlone) {
  const auto runs = read_back(naive_and_fused());
  EXPECT_TRUE(sweep_maps(group_runs(runs), compare(runs, {}), "rows").empty());
}

}  // namespace
}  // namespace rnnlab::report
