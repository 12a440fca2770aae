// SPDX-License-Identifier: Apache-2.0
#include "runs/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rnnlab::report {
namespace {

using ::testing::ElementsAre;

using Row = std::vector<std::string>;

Row headings(const TextTable& table) {
  Row all;
  for (const TableColumn& column : table.columns()) all.push_back(column.heading);
  return all;
}

Chart curves(std::vector<Curve> curves) {
  return {.id = "a-b",
          .title = "Loss",
          .body = Curves{{.name = "epoch"}, {.name = "time", .unit = "s"}, std::move(curves)}};
}

TEST(Charts, HaveSomethingToDrawWhereOneNumberIsFinite) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto chart_of = [](auto body) { return Chart{.id = "a", .title = "", .body = body}; };
  const HeatMap empty_map = {{}, {}, {}, {"8"}, {"naive"}, {{std::nullopt}}};
  EXPECT_TRUE(without_empty_charts({curves({}), curves({{"a", "a", {{1, kInf}}}}), chart_of(Bars{}),
                                    chart_of(Waterfall{}), chart_of(empty_map)})
                  .empty());
  EXPECT_EQ(without_empty_charts({curves({{"a", "a", {{1, kInf}, {2, 0.5}}}})}).size(), 1U);
}

TEST(Bands, HaveTheMedianAndTheEndsOfTheRunsOfEachGroup) {
  const auto bands = bands_of(std::get<Curves>(curves({{"a", "a, seed 1", {{1, 1}, {2, 5}}, 2},
                                                       {"a", "a, seed 2", {{1, 4}, {2, 7}}, 2},
                                                       {"a", "a, seed 3", {{1, 2}}, 2},
                                                       {"b", "b", {{1, 1}, {2, 1}}, 3}})
                                                   .body));
  ASSERT_EQ(bands.size(), 1U);
  EXPECT_EQ(bands[0].group, "a");
  EXPECT_EQ(bands[0].style, 2U);
  EXPECT_EQ(bands[0].num_runs, 3U);
  ASSERT_EQ(bands[0].points.size(), 2U);
  EXPECT_EQ(bands[0].points[0].middle, 2);
  EXPECT_EQ(bands[0].points[0].low, 1);
  EXPECT_EQ(bands[0].points[0].high, 4);
  EXPECT_EQ(bands[0].points[1].middle, 6);  // of the two runs that came so far
}

TEST(Bands, JoinTheFirstPointsAndSoOnWhereRunsShareNoX) {
  const auto bands = bands_of(
      std::get<Curves>(curves({{"a", "a, seed 1", {{1, 1}, {3, 5}}}, {"a", "a, seed 2", {{2, 3}, {5, 7}}}}).body));
  ASSERT_EQ(bands.at(0).points.size(), 2U);
  EXPECT_EQ(bands[0].points[0].x, 1.5);
  EXPECT_EQ(bands[0].points[1].x, 4);
}

TEST(Bands, HaveAGapWhereARunHasNoNumber) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const auto bands =
      bands_of(std::get<Curves>(curves({{"a", "a, seed 1", {{1, 1}}}, {"a", "a, seed 2", {{1, none}}}}).body));
  EXPECT_TRUE(std::isnan(bands.at(0).points[0].middle));
  EXPECT_TRUE(std::isnan(bands[0].points[0].low));
}

TEST(DataOfAChart, IsAMatrixOfEpochsAndRunsWhereTheyShareTheirEpochs) {
  const TextTable table = data_of(
      curves({{"fused", "fused", {{1, 0.1}, {2, 1.0 / 3}}}, {"naive", "naive", {{1, 2, "warm-up"}}}}), Digits::kAll);
  EXPECT_THAT(headings(table), ElementsAre("epoch", "fused", "naive"));
  EXPECT_THAT(table.rows(), ElementsAre(Row{"1", "0.1", "2"}, Row{"2", "0.3333333333333333", ""}));
}

TEST(DataOfAChart, HasARowForEachPointWhereCurvesShareNoX) {
  const TextTable table =
      data_of(curves({{"a", "a, seed 1", {{0.5, 1}}}, {"a", "a, seed 2", {{0.75, 2}}}}), Digits::kAll);
  EXPECT_THAT(headings(table), ElementsAre("run", "epoch", "time (s)"));
  EXPECT_THAT(table.rows(), ElementsAre(Row{"a, seed 1", "0.5", "1"}, Row{"a, seed 2", "0.75", "2"}));
}

TEST(DataOfAChart, HasTheIntervalsOfCurves) {
  const Curve measured = {"measured", "measured", {{1, 1}, {2, 1.5, "", Interval{1.25, 1.75}}}};
  const Curve ideal = {"ideal", "ideal", {{1, 1}, {2, 2}}};
  const TextTable shared = data_of(curves({measured, ideal}), Digits::kAll);
  EXPECT_THAT(headings(shared), ElementsAre("epoch", "measured", "measured: low", "measured: high", "ideal"));
  EXPECT_THAT(shared.rows(), ElementsAre(Row{"1", "1", "", "", "1"}, Row{"2", "1.5", "1.25", "1.75", "2"}));
  const TextTable apart = data_of(curves({measured, {"ideal", "ideal", {{3, 3}}}}), Digits::kAll);
  EXPECT_THAT(headings(apart), ElementsAre("run", "epoch", "time (s)", "low", "high"));
  EXPECT_THAT(apart.rows(), ElementsAre(Row{"measured", "1", "1", "", ""}, Row{"measured", "2", "1.5", "1.25", "1.75"},
                                        Row{"ideal", "3", "3", "", ""}));
}

TEST(DataOfAChart, IsRoundedForPeople) {
  const TextTable table = data_of(curves({{"a", "a", {{1, 1.0 / 3}}}}), Digits::kFew);
  EXPECT_THAT(table.rows(), ElementsAre(Row{"1", "0.333333"}));
}

TEST(DataOfAChart, HasTheIntervalsOfBars) {
  const Bars bars = {{.name = "time", .unit = "s"}, {{"fused", 2, Interval{1, 3}}, {"naive", 4}}};
  const TextTable table = data_of({.id = "x", .title = "", .body = bars}, Digits::kAll);
  EXPECT_THAT(headings(table), ElementsAre("run", "time (s)", "low", "high"));
  EXPECT_THAT(table.rows(), ElementsAre(Row{"fused", "2", "1", "3"}, Row{"naive", "4", "", ""}));
}

TEST(DataOfAChart, HasTheChangesOfAWaterfall) {
  const Waterfall waterfall = {{.name = "time", .unit = "ms"},
                               {{"naive", 0, 4, StepKind::kWhole}, {"grouped", 4, 3, StepKind::kGain}}};
  const TextTable table = data_of({.id = "x", .title = "", .body = waterfall}, Digits::kAll);
  EXPECT_THAT(table.rows(), ElementsAre(Row{"naive", "4", ""}, Row{"grouped", "3", "-1"}));
}

TEST(DataOfAChart, LeavesCellsOfAHeatMapEmptyThatWereNotMeasured) {
  const HeatMap map = {.x = {.name = "L"},
                       .y = {.name = "H"},
                       .value = {.name = "gain"},
                       .columns = {"1", "2"},
                       .rows = {"64"},
                       .cells = {{1.5, std::nullopt}}};
  const TextTable table = data_of({.id = "x", .title = "", .body = map}, Digits::kAll);
  EXPECT_THAT(headings(table), ElementsAre("H / L", "1", "2"));
  EXPECT_THAT(table.rows(), ElementsAre(Row{"64", "1.5", ""}));
}

}  // namespace
}  // namespace rnnlab::report
