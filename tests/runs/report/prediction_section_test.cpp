// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "golden.h"
#include "runs/report/make_report.h"
#include "runs/report/sample_sources.h"
#include "runs/report/sections.h"
#include "runs/report/writers.h"

namespace rnnlab::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Kind>
const Kind& only(const Section& section) {
  const Kind* found = nullptr;
  for (const Block& block : section.blocks)
    if (const auto* one = std::get_if<Kind>(&block)) found = one;
  if (found == nullptr) throw std::runtime_error("the section has no such block");
  return *found;
}

PredictionOverview of_classes() {
  PredictionOverview overview;
  overview.data = "csv from pets.csv: 6 validation samples";
  overview.metrics.classes = {{.name = "cat", .num_rows = 4, .precision = 0.75, .recall = 0.75, .f1 = 0.75},
                              {.name = "dog", .num_rows = 2, .precision = std::nullopt, .recall = 0.5, .f1 = 0.5}};
  overview.metrics.confusion = {{3, 1}, {1, 1}};
  overview.largest_errors = {{.sample = "row 5 (rex)", .target = "dog", .prediction = "cat (0.9000)", .error = 0.9}};
  return overview;
}

PredictionOverview of_series() {
  PredictionOverview overview;
  overview.forecasts = {{.target = "OT", .truth = {1, 2}, .predicted = {1.5, 2.5}, .naive = {0, 1}}};
  overview.is_series = true;
  overview.naive_name = "last value";
  return overview;
}

Section section_of(const std::string& run, const PredictionOverview& overview, const std::string& prefix) {
  return prediction_section(run, {.folder = {}, .overview = overview}, prefix);
}

TEST(PredictionSection, DrawsTheConfusionMatrix) {
  const Section section = section_of("pets, cpu fused", of_classes(), "pets");
  expect_golden(section.heading);
  const auto& map = std::get<HeatMap>(only<Chart>(section).body);
  EXPECT_THAT(map.rows, ElementsAre("cat", "dog"));
  EXPECT_THAT(map.cells, ElementsAre(ElementsAre(3, 1), ElementsAre(1, 1)));
}

TEST(PredictionSection, ListsTheSamplesWithTheLargestErrors) {
  const Section section = section_of("pets, cpu fused", of_classes(), "pets");
  const TextTable& table = only<NamedTable>(section).table;
  EXPECT_EQ(table.columns().back().heading, "missing probability");
  EXPECT_THAT(table.rows(), ElementsAre(ElementsAre("row 5 (rex)", "dog", "cat (0.9000)", "0.9000")));
}

TEST(PredictionSection, DrawsForecastsBesideTheirTargetsAndTheNaiveForecast) {
  const Section section = section_of("weather, cpu fused", of_series(), "weather");
  const auto& chart = only<Chart>(section);
  EXPECT_EQ(chart.title, "OT: target and prediction");
  expect_golden(chart.description);
  std::vector<std::string> names;
  for (const Curve& curve : std::get<Curves>(chart.body).curves) names.push_back(curve.name);
  EXPECT_THAT(names, ElementsAre("target", "prediction", "last value"));
}

TEST(PredictionSection, DrawsTheQuantilesOfADistributionAsABand) {
  PredictionOverview overview = of_series();
  overview.levels = {0.1, 0.5, 0.9};
  overview.forecasts[0].low = {1, 2};
  overview.forecasts[0].high = {2, 4};
  const Section section = section_of("weather, cpu fused", overview, "weather");
  const auto& chart = only<Chart>(section);
  expect_golden(chart.description);
  const std::vector<Curve>& curves = std::get<Curves>(chart.body).curves;
  EXPECT_EQ(curves[1].intervals, IntervalLook::kBand);
  EXPECT_EQ(curves[1].points[1].interval->high, 4);
  EXPECT_FALSE(has_intervals(curves[0]));
}

TEST(PredictionSection, CountsStepsIfTheyHaveTargets) {
  PredictionOverview classes = of_classes();
  classes.metrics.row = "step";
  const Section section = section_of("pets, cpu fused", classes, "pets");
  EXPECT_EQ(std::get<HeatMap>(only<Chart>(section).body).value.name, "steps");
  expect_golden(only<NamedTable>(section).title);
  EXPECT_EQ(only<NamedTable>(section).table.columns().front().heading, "step");
  PredictionOverview series = of_series();
  series.metrics.row = "step";
  const Section of_numbers = section_of("weather, cpu fused", series, "weather");
  expect_golden(only<Chart>(of_numbers).description);
}

TEST(PredictionSection, DrawsTheErrorByHorizon) {
  PredictionOverview overview = of_series();
  overview.horizons = {1, 6};
  overview.by_horizon = {{.target = "OT", .root_mean_squared_errors = {1, 2}, .naive = {{"last value", {1.5, 4}}}}};
  const Section section = section_of("weather, cpu fused", overview, "weather");
  const auto& chart = std::get<Chart>(section.blocks.at(2));  // after the forecast
  EXPECT_EQ(chart.title, "Error by horizon");
  const auto& curves = std::get<Curves>(chart.body).curves;
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[1].name, "OT: last value");
  EXPECT_EQ(curves[1].points.back().x, 6);
  EXPECT_EQ(curves[1].points.back().y, 4);
}

TEST(PredictionSection, RefersToJsonIfThereAreTooManyClasses) {
  PredictionOverview overview = of_classes();
  overview.metrics.classes.assign(41, {.name = "x"});
  const Section section = section_of("x", overview, "x");
  EXPECT_THAT(std::get<Sentences>(section.blocks.at(1)).lines[0], HasSubstr("41 classes is too large"));
}

TEST(PredictionSection, FollowsTheSectionsOnRunsWithoutTellingFolders) {
  Sources sources;
  auto runs = testing::naive_and_fused();
  for (const char* folder : {"/home/jane/a", "/home/jane/b"}) {
    const size_t i = sources.predictions.size();
    runs[i].config += fmt::format("data: {{path: {}/pets.csv}}\n", folder);
    sources.predictions.push_back({.folder = folder});
  }
  sources.runs = testing::read_back(runs);
  for (size_t i = 0; i < 2; ++i) sources.predictions[i].folder = sources.runs[i].folder;
  sources.predictions[0].overview = of_classes();
  sources.predictions[1].reason = "/home/jane/b/pets.csv: no such file";
  const Report report = make_report(without_machine(sources));
  expect_golden(report.sections.back().heading);
  EXPECT_THAT(markdown_of(report), HasSubstr("(2): pets.csv: no such "));
  EXPECT_THAT(markdown_of(report), ::testing::Not(HasSubstr("jane")));
}

}  // namespace
}  // namespace rnnlab::report
