// SPDX-License-Identifier: Apache-2.0
#include "runs/use/prediction_overview.h"

#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/expect_error.h"
#include "golden.h"
#include "runs/use/trained_runs.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TrainedRuns;

class Overview : public TrainedRuns {
 protected:
  PredictionOverview overview(const std::filesystem::path& run, const std::vector<std::string>& overrides = {},
                              std::optional<DataPart> part = std::nullopt) const {
    const TrainedModel trained = load(run, overrides, part);
    const InferenceData data = load_data(trained, Targets::kIfPresent);
    return prediction_overview(trained, data, predict(trained, data.samples));
  }
};

TEST_F(Overview, OfClassesHasTheirMatrixAndTheSamplesWithTheLargestErrors) {
  const PredictionOverview flowers = overview(train_flowers({"data.id=[length]", "data.features=[width]"}));
  EXPECT_THAT(flowers.data, HasSubstr("flowers.csv: 4 validation samples"));
  EXPECT_EQ(flowers.metrics.confusion.size(), 2u);
  EXPECT_THAT(flowers.forecasts, IsEmpty());
  ASSERT_EQ(flowers.largest_errors.size(), 4u);
  EXPECT_THAT(flowers.largest_errors[0].sample, ::testing::MatchesRegex("row [0-9]+ \\([0-9]+\\)"));
  EXPECT_TRUE(std::ranges::is_sorted(flowers.largest_errors, std::greater(), &SampleError::error));
  EXPECT_LE(flowers.largest_errors[0].error, 1);
}

// The window ends two rows before the target, so the naive forecast is the target of two samples before.
TEST_F(Overview, OfASeriesHasForecastsBesideTheirTargetsAndTheLastValue) {
  const PredictionOverview series = overview(train_series());
  EXPECT_TRUE(series.is_series);
  EXPECT_EQ(series.naive_name, "last value");
  ASSERT_EQ(series.forecasts.size(), 1u);
  const ForecastCurve& level = series.forecasts[0];
  EXPECT_EQ(level.target, "level");
  ASSERT_GT(level.truth.size(), 2u);
  EXPECT_EQ(level.predicted.size(), level.truth.size());
  for (size_t i = 2; i < level.truth.size(); ++i) EXPECT_NEAR(level.naive[i], level.truth[i - 2], 1e-4);
  EXPECT_GT(level.truth[0], 40) << "in the units of the file";
}

TEST_F(Overview, OfSeveralHorizonsHasTheErrorOfEach) {
  const PredictionOverview series = overview(train_series({"data.horizon=1..3"}));
  EXPECT_THAT(series.horizons, ElementsAre(1, 2, 3));
  ASSERT_EQ(series.by_horizon.size(), 1u);
  EXPECT_EQ(series.by_horizon[0].target, "level");
  ASSERT_EQ(series.metrics.targets.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(series.metrics.targets[i].name, fmt::format("level+{}", i + 1));
    EXPECT_NEAR(series.by_horizon[0].root_mean_squared_errors.at(i), series.metrics.targets[i].root_mean_squared_error,
                1e-9);
  }
  ASSERT_EQ(series.by_horizon[0].naive.size(), 1u);
  const std::vector<double>& last_value = series.by_horizon[0].naive[0].second;
  EXPECT_LT(last_value.at(0), last_value.at(2)) << "the last value gets older";
  EXPECT_EQ(series.forecasts.at(2).target, "level+3");
}

// Row i has the day i. The last rows are the validation part.
TEST_F(Overview, OfASeriesHasTheDatesOfItsTargets) {
  std::string rows = "day,level\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("day {},{}\n", i, i % 7);
  write("days.csv", rows);
  const auto run = train(
      "data: {source: csv, path: days.csv, features: [level], target: [level], window: 3, horizon: [1, 4], id: [day]}\n"
      "model: {kind: sequence_regressor, hidden_size: 2}\ntraining: {epochs: 1, batch_size: 16}\n");
  const PredictionOverview days = overview(run);
  EXPECT_EQ(days.id_name, "day");
  ASSERT_EQ(days.forecasts.size(), 2u);
  for (const ForecastCurve& curve : days.forecasts) {
    ASSERT_EQ(curve.dates.size(), curve.truth.size());
    for (size_t i = 0; i < curve.dates.size(); ++i) {
      if (curve.dates[i].empty()) continue;  // a row that is not in the part
      EXPECT_NEAR(curve.truth[i], std::stoi(curve.dates[i].substr(4)) % 7, 1e-5)
          << curve.target << " " << curve.dates[i];
    }
  }
  EXPECT_FALSE(days.forecasts[0].dates.front().empty());
  EXPECT_THAT(overview(train_series()).forecasts.at(0).dates, IsEmpty()) << "without data.id";
}

// The last validation targets are not beyond the file, but their rows need no column of data.id for their days.
TEST_F(Overview, OfASeriesHasTheTimesOfItsTargetsWithoutDataId) {
  std::string rows = "date,level\n";
  for (int i = 0; i < 50; ++i) rows += fmt::format("2026-{:02}-{:02},{}\n", 1 + i / 31, 1 + i % 31, 100 + i % 31);
  write("days.csv", rows);
  const auto run = train(
      "data: {source: csv, path: days.csv, features: [level], target: [level], window: 3, horizon: [1, 4]}\n"
      "model: {kind: sequence_regressor, hidden_size: 2}\ntraining: {epochs: 1, batch_size: 16}\n");
  const PredictionOverview days = overview(run);
  EXPECT_EQ(days.id_name, "date");
  for (const ForecastCurve& curve : days.forecasts)
    for (size_t i = 0; i < curve.truth.size(); ++i)
      EXPECT_EQ(curve.dates.at(i), fmt::format("2026-02-{:02}", std::lround(curve.truth[i]) - 99));
}

// The rows of two series take turns, and begin with the newest.
TEST_F(Overview, OfReorderedRowsHasTheDatesOfItsTargets) {
  std::string rows = "place,day,level\n";
  for (int i = 39; i >= 0; --i)
    for (const int place : {0, 1})
      rows += fmt::format("{0},2026-{1:02}-{2:02},{3}\n", place == 0 ? "north" : "south", 1 + i / 28, 1 + i % 28,
                          1000 * place + 100 * (1 + i / 28) + 1 + i % 28);
  write("places.csv", rows);
  const auto run = train(
      "data: {source: csv, path: places.csv, features: [level], target: [level], window: 3, horizon: [1, 4], id: "
      "[place, day], group: place, unsorted: sort, gaps: ignore}\n"
      "model: {kind: sequence_regressor, hidden_size: 2}\ntraining: {epochs: 1, batch_size: 16}\n");
  const PredictionOverview places = overview(run, {}, DataPart::kAll);
  ASSERT_EQ(places.forecasts.size(), 2u);
  for (const ForecastCurve& curve : places.forecasts) {
    ASSERT_EQ(curve.dates.size(), curve.truth.size());
    ASSERT_GT(curve.dates.size(), 0u);
    for (size_t i = 0; i < curve.dates.size(); ++i) {
      const int level = static_cast<int>(std::lround(curve.truth[i]));
      EXPECT_EQ(curve.dates[i],
                fmt::format("{}, 2026-{:02}-{:02}", level > 1000 ? "south" : "north", level % 1000 / 100, level % 100));
    }
  }
}

TEST_F(Overview, OfADistributionHasItsLowestAndHighestQuantiles) {
  const PredictionOverview all =
      overview(train_series({"training.loss=gaussian", "training.quantiles=[0.2, 0.5, 0.9]"}));
  EXPECT_THAT(all.levels, ElementsAre(0.2, 0.5, 0.9));
  const ForecastCurve& curve = all.forecasts.at(0);
  ASSERT_EQ(curve.low.size(), curve.truth.size());
  ASSERT_EQ(curve.high.size(), curve.truth.size());
  for (size_t i = 0; i < curve.truth.size(); ++i) {
    EXPECT_LT(curve.low[i], curve.predicted[i]);
    EXPECT_LT(curve.predicted[i], curve.high[i]);
  }
  EXPECT_THAT(overview(train_series()).forecasts.at(0).low, IsEmpty());
}

TEST_F(Overview, LeavesOutSamplesWithoutTargets) {
  const auto run = train_series();
  const PredictionOverview all = overview(run, {}, DataPart::kAll);
  EXPECT_TRUE(std::ranges::none_of(all.forecasts[0].truth, [](double value) { return std::isnan(value); }));
  EXPECT_EQ(all.naive_name, "");
  write("flowers_only.csv", "length,width\n12,3\n");
  const auto flowers = train_flowers();
  testing::expect_error(ExitCode::kData, [&] { overview(flowers, {"data.path=flowers_only.csv"}); });
}

// The level of every third row is missing. Inputs are filled.
TEST_F(Overview, OfMissingTargetsIsThatOfTheOthers) {
  std::string text = "level,flow\n";
  for (int i = 0; i < 120; ++i) text += fmt::format("{},{}\n", i % 3 == 2 ? "" : fmt::format("{}", 100 + i % 7), i % 5);
  write("gaps.csv", text);
  const auto run = train(
      "layer: naive\ndata: {source: csv, path: gaps.csv, target: [level], window: 4, horizon: [1, 2], num_valid: 30, "
      "missing: previous}\nmodel: {kind: sequence_regressor, hidden_size: 4}\ntraining: {epochs: 2, batch_size: 16}\n");
  const PredictionOverview all = overview(run);
  expect_golden(all.data);
  ASSERT_EQ(all.metrics.targets.size(), 2u);
  const TrainedModel trained = load(run, {}, DataPart::kValid);
  const InferenceData data = load_data(trained, Targets::kIfPresent);
  const Predictions predictions = predict(trained, data.samples);
  for (int64_t i = 0; i < 2; ++i) {
    const at::Tensor errors = (predictions.values - predictions.targets).select(1, i);
    const double rmse = std::sqrt(errors.masked_select(errors.isnan().logical_not()).square().mean().item<double>());
    EXPECT_NEAR(all.metrics.targets[static_cast<size_t>(i)].root_mean_squared_error, rmse, 1e-9);
    EXPECT_NEAR(all.by_horizon.at(0).root_mean_squared_errors.at(static_cast<size_t>(i)), rmse, 1e-9);
  }
  for (const ForecastCurve& curve : all.forecasts) {
    EXPECT_EQ(curve.truth.size(), 20u);
    EXPECT_TRUE(std::ranges::none_of(curve.truth, [](double value) { return std::isnan(value); }));
  }
  EXPECT_TRUE(std::ranges::none_of(all.largest_errors, [](const SampleError& one) { return std::isnan(one.error); }));
}

// The first validation targets have no value one season before, because of the gap.
TEST_F(Overview, ComparesHorizonsOverTheSameTargets) {
  std::string text = "date,level\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("2026-{:02}-{:02},{}\n", 1 + i / 31, 1 + i % 31, i * i % 11);
  for (int i = 0; i < 20; ++i) text += fmt::format("2026-03-{:02},{}\n", 1 + i, i * i % 11);
  write("seasons.csv", text);
  const auto run = train(
      "layer: naive\ndata: {source: csv, path: seasons.csv, features: [level], target: [level], window: 2, "
      "horizon: [1, 2], num_valid: 16, season: 6, gaps: split}\n"
      "model: {kind: sequence_regressor, hidden_size: 4}\ntraining: {epochs: 1, batch_size: 16}\n");
  const PredictionOverview all = overview(run);
  const TrainedModel trained = load(run, {}, DataPart::kValid);
  const InferenceData data = load_data(trained, Targets::kIfPresent);
  ASSERT_EQ(data.naive_forecasts.size(), 2u);
  const Predictions predictions = predict(trained, data.samples);
  const at::Tensor known = data.naive_forecasts[1].values.isnan().logical_not();
  ASSERT_LT(known.sum().item<int64_t>(), known.numel());
  ASSERT_EQ(all.by_horizon.at(0).naive.size(), 2u);
  for (int64_t i = 0; i < 2; ++i) {
    const at::Tensor errors = (predictions.values - predictions.targets).select(1, i);
    const double rmse = std::sqrt(errors.masked_select(known.select(1, i)).square().mean().item<double>());
    EXPECT_NEAR(all.by_horizon[0].root_mean_squared_errors.at(static_cast<size_t>(i)), rmse, 1e-9);
  }
}

// Independent rows have no order, so they are shown in that of their targets.
TEST_F(Overview, OfIndependentRowsIsInTheOrderOfTheTargets) {
  write_series("rows.csv", 60);
  const PredictionOverview rows =
      overview(train("data: {source: csv, path: rows.csv, target: [level], features: [flow], task: regression}\n"
                     "model: {kind: sequence_regressor, hidden_size: 4}\ntraining: {epochs: 1, batch_size: 16}\n"));
  EXPECT_FALSE(rows.is_series);
  EXPECT_TRUE(std::ranges::is_sorted(rows.forecasts.at(0).truth));
  EXPECT_THAT(rows.forecasts[0].naive, IsEmpty());
}

}  // namespace
}  // namespace rnnlab
