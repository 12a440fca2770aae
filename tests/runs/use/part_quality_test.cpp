// SPDX-License-Identifier: Apache-2.0
#include "runs/use/part_quality.h"

#include <gmock/gmock.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "golden.h"
#include "runs/use/evaluate_model.h"
#include "runs/use/trained_runs.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TrainedRuns;

class QualityOnPart : public TrainedRuns {
 protected:
  PartQuality quality(const std::filesystem::path& run, std::optional<DataPart> part = std::nullopt,
                      const std::vector<std::string>& overrides = {}) const {
    const TrainedModel trained = load(run, overrides, part);
    const InferenceData data = load_data(trained, Targets::kRequired);
    return quality_on_part(trained, data, evaluate_model(trained, data.samples).metrics);
  }

  static std::vector<std::string> names(const PartQuality& quality) {
    std::vector<std::string> all;
    for (const Baseline& baseline : quality.baselines) all.push_back(baseline.name);
    return all;
  }
};

// A series of 40 rows that rises by 1 a row: its last value is always 1 too low.
TEST_F(QualityOnPart, OfASeriesIsBesideItsLastValueOnEachPart) {
  std::string rows = "level\n";
  for (int i = 0; i < 40; ++i) rows += fmt::format("{}\n", i);
  write("rising.csv", rows);
  const auto run = train(
      "data: {source: csv, path: rising.csv, target: [level], window: 2, num_valid: 5, num_test: 6}\n"
      "model: {kind: sequence_regressor, hidden_size: 2}\ntraining: {epochs: 1, batch_size: 16}\n");
  for (const DataPart part : {DataPart::kTrain, DataPart::kValid, DataPart::kTest, DataPart::kAll}) {
    const PartQuality one = quality(run, part);
    expect_golden(names(one));
    EXPECT_NEAR(one.baselines[0].metrics.at("valid_rmse"), 1, 1e-4) << config::name_of(part);
    EXPECT_GT(one.model.at("valid_rmse"), 1);
    expect_golden(quality_text(one));
  }
  const PartQuality test = quality(run, DataPart::kTest);
  EXPECT_GT(test.baselines[1].metrics.at("valid_mae"), quality(run).baselines[1].metrics.at("valid_mae"))
      << "the test part is further from the mean of the training part";
  EXPECT_THAT(quality_text(test), StartsWith("baseline  last value: RMSE 1, "));
  EXPECT_THAT(quality_text(test), HasSubstr("ridge regression of the window wins, without a model: test RMSE "));
}

TEST_F(QualityOnPart, OfClassesIsBesideTheMostFrequentClass) {
  std::string rows = "x,kind\n";
  for (int i = 0; i < 40; ++i) rows += fmt::format("{},{}\n", i % 7, i % 4 == 0 ? "rare" : "often");
  write("kinds.csv", rows);
  const auto run = train(
      "data: {source: csv, path: kinds.csv, target: [kind], split: ordered, num_valid: 8, num_test: 4}\n"
      "model: {hidden_size: 2}\ntraining: {epochs: 1, batch_size: 16}\n");
  const PartQuality test = quality(run, DataPart::kTest);
  EXPECT_THAT(names(test), ElementsAre("most frequent class"));
  EXPECT_EQ(test.baselines[0].metrics.at("valid_accuracy"), 0.75);
  nlohmann::ordered_json json;
  add_quality(test, json);
  EXPECT_EQ(json["baselines"][0]["name"], "most frequent class");
  EXPECT_EQ(json["baselines"][0]["metrics"]["accuracy"], 0.75);
}

TEST_F(QualityOnPart, IsThatOfTheRunsLogOnTheValidationPart) {
  const auto run = train_series();
  const PartQuality valid = quality(run);
  const auto recorded = read_summary(run).baselines;
  ASSERT_EQ(valid.baselines.size(), recorded.size());
  for (size_t i = 0; i < recorded.size(); ++i) {
    EXPECT_EQ(valid.baselines[i].name, recorded[i].name);
    EXPECT_EQ(valid.baselines[i].metrics, recorded[i].metrics);
  }
}

TEST_F(QualityOnPart, OfOtherDataNeedsTheTrainingDataForTheirMean) {
  const auto run = train_series();
  write_series("new.csv", 60);
  const std::vector<std::string> on_new = {"data.path=" + name("new.csv")};
  expect_golden(names(quality(run, std::nullopt, on_new)));
  EXPECT_THAT(quality(run, std::nullopt, on_new).notes, IsEmpty());
  std::filesystem::remove(name("series.csv"));
  const PartQuality without = quality(run, std::nullopt, on_new);
  EXPECT_THAT(names(without), ElementsAre("last value"));
  expect_golden(without.notes);
}

TEST_F(QualityOnPart, OfTextIsBesideTheFrequenciesOfItsTokens) { expect_golden(names(quality(train_text()))); }

}  // namespace
}  // namespace rnnlab
