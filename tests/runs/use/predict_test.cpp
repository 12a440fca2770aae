// SPDX-License-Identifier: Apache-2.0
#include "runs/use/predict.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "golden.h"
#include "runs/use/detailed_metrics.h"
#include "runs/use/prediction_files.h"
#include "runs/use/trained_runs.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TrainedRuns;

class Predict : public TrainedRuns {
 protected:
  Predictions predictions(const std::filesystem::path& run, const std::vector<std::string>& overrides = {}) const {
    const TrainedModel trained = load(run, overrides);
    return predict(trained, load_data(trained, Targets::kIfPresent).samples);
  }
};

TEST_F(Predict, GivesProbabilitiesOfNamedClasses) {
  const Predictions flowers = predictions(train_flowers());
  EXPECT_EQ(flowers.kind, PredictionKind::kClasses);
  EXPECT_THAT(flowers.names, ElementsAre("iris", "rose, red"));
  EXPECT_EQ(flowers.values.sizes(), (std::vector<int64_t>{4, 2}));
  EXPECT_NEAR(flowers.values.sum().item<double>(), 4, 1e-12);
  EXPECT_EQ(flowers.targets.size(0), 4);
}

TEST_F(Predict, GivesClassesOfImagesHoweverTheyAreComputed) {
  const auto run = train(
      "data: {source: digits, num_train: 100, num_valid: 20}\nmodel: {kind: image_classifier, dense: [8]}\n"
      "training: {epochs: 1, batch_size: 20}\n");
  const Predictions fused = predictions(run);
  EXPECT_EQ(fused.kind, PredictionKind::kClasses);
  EXPECT_EQ(fused.values.sizes(), (std::vector<int64_t>{20, 10}));
  const Predictions plain = predictions(run, {"convolution=plain"});
  EXPECT_TRUE(plain.raw.allclose(fused.raw, 1e-4, 1e-5));
}

// The values are the medians, or the means, of the distributions. A model that counts gives whole numbers.
TEST_F(Predict, GivesQuantilesOfADistribution) {
  for (const char* loss : {"quantile", "gaussian", "student", "poisson"}) {
    const auto run = train_series({"training.loss=" + std::string(loss), "training.quantiles=[0.1, 0.5, 0.8, 0.9]",
                                   "training.metrics=[coverage, crps]"});
    const Predictions levels = predictions(run);
    EXPECT_THAT(levels.levels, ElementsAre(0.1, 0.5, 0.8, 0.9));
    EXPECT_EQ(levels.values.size(1), 1) << loss;
    EXPECT_EQ(levels.quantiles.sizes(), (std::vector<int64_t>{levels.values.size(0), 1, 4}));
    EXPECT_TRUE(levels.quantiles.diff(1, 2).ge(0).all().item<bool>()) << loss;
    EXPECT_TRUE(levels.quantiles.select(2, 0).lt(levels.values).all().item<bool>()) << loss;
    EXPECT_TRUE(levels.values.lt(levels.quantiles.select(2, 3)).all().item<bool>()) << loss;
    const bool counts = std::string_view(loss) == "poisson";
    const double fraction = (levels.quantiles - levels.quantiles.round()).abs().max().item<double>();
    EXPECT_EQ(fraction < 1e-3, counts) << loss;
  }
}

TEST_F(Predict, GivesAPredictionForEachStepThatHasATarget) {
  write("tags.csv", "sentence,x,tag\na,1,N\na,-1,V\nb,-1,V\nb,-1,V\nb,1,N\nc,1,N\n");
  const auto run = train(
      "data: {source: csv, path: tags.csv, group: sentence, target: [tag], target_per: step, num_valid: 1, split: "
      "ordered}\nmodel: {hidden_size: 4}\ntraining: {epochs: 1, batch_size: 2, valid_batch_size: 2}\n");
  const TrainedModel trained = load(run, {}, DataPart::kAll);
  const InferenceData data = load_data(trained, Targets::kIfPresent);
  const Predictions tags = predict(trained, data.samples);
  EXPECT_EQ(tags.values.sizes(), (std::vector<int64_t>{6, 2})) << "a row for each row of the file";
  EXPECT_TRUE(tags.targets.equal(at::tensor({0, 1, 1, 1, 0, 0}, at::kLong)));
  EXPECT_THAT(prediction_csv(tags, data.rows), HasSubstr("\n5,6,N,"));
  expect_golden(data.description);
  EXPECT_THAT(prediction_text(tags, "tags.npy"), StartsWith("tags.npy: 6 steps of 3 "));
  const auto json = nlohmann::json::parse(prediction_json(trained, data, tags, "tags.npy"));
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["steps"], 6);
  const std::vector<ClassMetrics> classes = detailed_metrics(tags).classes;
  EXPECT_EQ(classes[0].num_rows + classes[1].num_rows, 6);
  EXPECT_THAT(detailed_metrics_text(detailed_metrics(tags)), HasSubstr("F1  steps\n"));

  write("new.csv", "sentence,x\nz,1\nz,-1\n");
  const TrainedModel of_new = load(run, {"data.path=new.csv"}, DataPart::kAll);
  EXPECT_EQ(predict(of_new, load_data(of_new, Targets::kIfPresent).samples).values.size(0), 2);
  EXPECT_TRUE(tags.raw.narrow(0, 0, 2).allclose(predict(of_new, load_data(of_new, Targets::kIfPresent).samples).raw,
                                                1e-5, 1e-6));
}

TEST_F(Predict, KnowsTheCategoriesOfTraining) {
  write("tags.csv", "sentence,word,tag\na,red,N\na,on,V\nb,on,V\nb,red,N\nc,red,N\n");
  const auto run = train(
      "data: {source: csv, path: tags.csv, group: sentence, target: [tag], target_per: step, categories: [word], "
      "num_valid: 1, split: ordered}\nmodel: {hidden_size: 4}\ntraining: {epochs: 1, batch_size: 2}\n");
  write("new.csv", "word,sentence\nred,z\nsky,z\n");  // by itself, red would have another number
  const auto of = [&](const std::string& file) {
    const TrainedModel trained = load(run, {"data.path=" + file}, DataPart::kAll);
    return predict(trained, load_data(trained, Targets::kIfPresent).samples);
  };
  EXPECT_TRUE(of("new.csv").raw[0].allclose(of("tags.csv").raw[0], 1e-5, 1e-6)) << "both begin with red";
}

TEST_F(Predict, TimesItsPassesAndGivesTheSame) {
  const TrainedModel trained = load(train_flowers());
  const auto samples = load_data(trained, Targets::kIfPresent).samples;
  const Predictions once = predict(trained, samples);
  const Predictions often = predict(trained, samples, 3);
  EXPECT_EQ(once.times.seconds.size(), 1u);
  EXPECT_EQ(often.times.seconds.size(), 3u);
  EXPECT_EQ(often.times.num_samples, 4);
  EXPECT_TRUE(once.raw.equal(often.raw));
  EXPECT_TRUE(std::ranges::all_of(often.times.seconds, [](double seconds) { return seconds > 0; }));
}

TEST_F(Predict, TakesATableWithoutTargets) {
  const auto run = train_flowers();
  write("with.csv", "kind,width,length\niris,3,10\niris,4,32\n");  // in another order
  write("without.csv", "length,width\n10,3\n32,4\n");
  const Predictions with = predictions(run, {"data.path=" + name("with.csv")});
  const Predictions without = predictions(run, {"data.path=" + name("without.csv")});
  EXPECT_TRUE(with.raw.equal(without.raw));
  EXPECT_TRUE(with.targets.defined());
  EXPECT_FALSE(without.targets.defined());
}

TEST_F(Predict, GivesValuesInTheTargetsOwnUnits) {
  const Predictions levels = predictions(train_series());
  EXPECT_EQ(levels.kind, PredictionKind::kValues);
  EXPECT_THAT(levels.names, ElementsAre("level"));
  EXPECT_GT(levels.targets.max().item<double>(), 60) << "not scaled to a deviation of 1";
  EXPECT_GT(levels.values.max().item<double>(), 60);
}

// The windows at the end have no target yet: a forecast predicts them.
TEST_F(Predict, NamesTheHorizonsOfATarget) {
  const Predictions series = predictions(train_series({"data.horizon=[1, 4]"}));
  EXPECT_THAT(series.names, ElementsAre("level+1", "level+4"));
  EXPECT_GT(series.targets.min().item<double>(), 40) << "in the units of the file";
}

TEST_F(Predict, ForecastsBeyondTheEndOfASeries) {
  const auto run = train_series();
  write_series("new.csv", 12);
  const Predictions forecast = predictions(run, {"data.path=" + name("new.csv")});
  ASSERT_EQ(forecast.values.size(0), 5);  // windows of 8 rows in 12
  EXPECT_FALSE(std::isnan(forecast.targets[2][0].item<double>()));
  EXPECT_TRUE(std::isnan(forecast.targets[3][0].item<double>()));
  EXPECT_TRUE(std::isnan(forecast.targets[4][0].item<double>()));
}

TEST_F(Predict, GivesTheProbabilityOfABinaryTarget) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 30; ++i) text += fmt::format("{},{},{}\n", i, 30 - i, i % 2);
  write("yes.csv", text);
  const auto run = train(
      "data: {source: csv, path: yes.csv, features: [a, b], target: [y], task: binary}\nmodel: {hidden_size: 4}\n"
      "training: {epochs: 1, batch_size: 10}\n");
  const Predictions yes = predictions(run);
  EXPECT_EQ(yes.kind, PredictionKind::kProbabilities);
  EXPECT_NEAR(yes.values[0][0].item<double>(), 1 / (1 + std::exp(-yes.raw[0][0].item<double>())), 1e-12);
}

TEST_F(Predict, NamesClassesOfImagesByTheirNumbers) {
  const auto run = train(
      "data: {source: digits, num_train: 60, num_valid: 20}\nmodel: {hidden_size: 4}\n"
      "training: {epochs: 1, batch_size: 20}\n");
  EXPECT_THAT(predictions(run).names, ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
}

}  // namespace
}  // namespace rnnlab
