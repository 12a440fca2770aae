// SPDX-License-Identifier: Apache-2.0
#include "runs/use/evaluate_model.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/expect_error.h"
#include "results/epoch_log.h"
#include "runs/use/predict.h"
#include "runs/use/trained_runs.h"

namespace rnnlab {
namespace {

using testing::TrainedRuns;

class EvaluateModel : public TrainedRuns {
 protected:
  MetricValues metrics(const TrainedModel& trained) const {
    return evaluate_model(trained, load_data(trained, Targets::kRequired).samples).metrics;
  }
  MetricValues last(const std::filesystem::path& run, const std::vector<std::string>& overrides = {}) const {
    return metrics(load_trained_model({.run = run, .checkpoint = "last", .overrides = overrides}));
  }
};

TEST_F(EvaluateModel, GivesTheDigitsOfTheRunsLog) {
  const auto flowers = train_flowers();
  const EpochRow row = read_epochs(flowers).back();
  EXPECT_EQ(last(flowers).at("loss"), row.valid_loss);
  EXPECT_EQ(last(flowers).at("accuracy"), row.metrics.at("valid_accuracy"));
  const auto series = train_series();
  EXPECT_EQ(last(series).at("rmse"), read_epochs(series).back().metrics.at("valid_rmse"));
  const auto text = train_text();
  EXPECT_EQ(last(text).at("perplexity"), read_epochs(text).back().metrics.at("valid_perplexity"));
}

// Errors in the units of the file, of whole values: those of the log, of the loss's own sums and of the predictions.
TEST_F(EvaluateModel, UndoesScalesOfSeriesAndWindows) {
  std::string text = "shop,x,y\n";
  for (int i = 0; i < 160; ++i)
    text +=
        fmt::format("{},{},{}\n", i % 2 == 0 ? "a" : "b", i % 7, (i % 2 == 0 ? 1 : 100) * (50 + 20 * std::sin(i * .2)));
  write("shops.csv", text);
  for (const std::string keys : {"scale_by: series", "scale_by: window", "scale_by: window, target_as: change"}) {
    const auto run = train(
        "layer: naive\ndata: {source: csv, path: shops.csv, features: [x, y], target: [y, x], window: 6, horizon: [1, "
        "3], "
        "group: shop, valid_fraction: 0.2, " +
        keys +
        "}\nmodel: {kind: sequence_regressor, hidden_size: 4}\ntraining: {epochs: 2, batch_size: 16, "
        "metrics: [mase]}\n");
    const TrainedModel trained = load_trained_model({.run = run, .checkpoint = "last"});
    EXPECT_EQ(trained.data.series_scales.size(), 3u) << "the whole, and two series";
    const EpochRow row = read_epochs(run).back();
    EXPECT_EQ(last(run).at("rmse"), row.metrics.at("valid_rmse")) << keys;
    const InferenceData data = load_data(trained, Targets::kRequired);
    const Predictions predictions = predict(trained, data.samples);
    const at::Tensor errors = predictions.values - predictions.targets;
    EXPECT_NEAR(errors.square().mean().sqrt().item<double>() / row.metrics.at("valid_rmse"), 1, 1e-5) << keys;
    EXPECT_NEAR(errors.abs().mean().item<double>() / row.metrics.at("valid_mae"), 1, 1e-5) << keys;
    EXPECT_GT(predictions.targets.max().item<double>(), 3000) << "the larger series";
    EXPECT_LT(predictions.targets.min().item<double>(), 100);
  }
}

TEST_F(EvaluateModel, HasTheMetricsThatTheRunAsksFor) {
  const auto series = train_series({"training.metrics=[r2, mase, smape]"});
  const EpochRow row = read_epochs(series).back();
  for (const std::string metric : {"r2", "mase", "smape"})
    EXPECT_EQ(last(series).at(metric), row.metrics.at("valid_" + metric)) << metric;
  const auto flowers = train_flowers({"training.early_stopping=valid_macro_f1"});
  EXPECT_EQ(last(flowers).at("macro_f1"), read_epochs(flowers).back().metrics.at("valid_macro_f1"));
}

TEST_F(EvaluateModel, HasTheMetricsThatTheUserAsksFor) {
  const auto flowers = train_flowers();
  EXPECT_FALSE(last(flowers).contains("macro_f1"));
  EXPECT_TRUE(last(flowers, {"training.metrics=[macro_f1]"}).contains("macro_f1"));
}

// The training part is gone when the model is used.
TEST_F(EvaluateModel, SaysWhyAMetricHasNoValue) {
  const auto series = train_series({"training.metrics=[r2, mase]"});
  std::filesystem::rename(name("series.csv"), name("other.csv"));
  const TrainedModel trained = load(series, {"data.path=" + name("other.csv")});
  const InferenceData data = load_data(trained, Targets::kRequired);
  const ModelEvaluation evaluation = evaluate_model(trained, data.samples);
  EXPECT_THAT(evaluation.undefined,
              ::testing::ElementsAre(::testing::Pair("mase", ::testing::HasSubstr("is unknown"))));
  EXPECT_THAT(evaluation_text(trained, data, evaluation), ::testing::HasSubstr("\nmase                no value: "));
  const auto json = nlohmann::json::parse(evaluation_json(trained, data, evaluation));
  EXPECT_TRUE(json["metrics"]["mase"].is_null());
  EXPECT_TRUE(json["undefined_metrics"]["mase"].is_string());
}

TEST_F(EvaluateModel, GivesTheDigitsOfTheLogForGeneratedImagesInBatches) {
  const auto run = train(
      "data: {source: digits, num_train: 200, num_valid: 50}\nmodel: {hidden_size: 8}\n"
      "training: {epochs: 2, batch_size: 50, valid_batch_size: 16}\n");
  EXPECT_EQ(last(run).at("loss"), read_epochs(run).back().valid_loss);
}

TEST_F(EvaluateModel, TakesTheBestCheckpointWhereOneIsMarked) {
  const auto run = train_flowers({"training.epochs=6", "training.learning_rate=0.2", "checkpoint.every_seconds=0"});
  double best = 1e9;
  for (const EpochRow& row : read_epochs(run)) best = std::min(best, row.valid_loss.value());
  EXPECT_EQ(metrics(load(run)).at("loss"), best);
}

TEST_F(EvaluateModel, LooksAtThePartThatIsNamed) {
  const auto run = train_flowers();
  const TrainedModel train_part = load(run, {}, DataPart::kTrain);
  EXPECT_EQ(load_data(train_part, Targets::kRequired).samples.size(), 36);
  EXPECT_EQ(load_data(load(run, {}, DataPart::kAll), Targets::kRequired).samples.size(), 40);
  EXPECT_EQ(load_data(load(run), Targets::kRequired).samples.size(), 4);
}

// The same rows give the same samples among different rows, and as a separate part.
TEST_F(EvaluateModel, ScalesOtherDataAsTheTrainingData) {
  const auto run = train_series();
  write("part.csv",
        "level,flow\n" + std::string("1000,7\n") + "100,5\n100,5\n100,5\n100,5\n100,5\n100,5\n100,5\n100,5\n100,5\n");
  const auto samples = load_data(load(run, {"data.path=" + name("part.csv")}), Targets::kRequired).samples;
  const auto all = load_data(load(run, {}, DataPart::kAll), Targets::kRequired).samples;
  ASSERT_EQ(samples.size(), 1);
  EXPECT_EQ(samples.inputs.size(1), 8);
  const FittedData fitted = load(run).data;
  ASSERT_EQ(fitted.feature_scales.size(), 2u);
  EXPECT_EQ(samples.inputs[0][0][0].item<float>(),
            static_cast<float>((1000 - fitted.feature_scales[0].offset) / fitted.feature_scales[0].scale));
  EXPECT_EQ(all.inputs[0][0][0].item<float>(), samples.inputs[0][1][0].item<float>()) << "both are 100";
}

TEST_F(EvaluateModel, NeedsTargets) {
  const auto run = train_flowers();
  write("new.csv", "length,width\n10,3\n");
  testing::expect_error(ExitCode::kData,
                        [&] { load_data(load(run, {"data.path=" + name("new.csv")}), Targets::kRequired); });
}

TEST_F(EvaluateModel, NamesAClassThatTrainingNeverSaw) {
  const auto run = train_flowers();
  write("new.csv", "length,width,kind\n10,3,iris\n12,4,lily\n");
  testing::expect_error(ExitCode::kData,
                        [&] { load_data(load(run, {"data.path=" + name("new.csv")}), Targets::kRequired); });
}

TEST_F(EvaluateModel, NamesACharacterThatTrainingNeverSaw) {
  const auto run = train_text();
  write("new.txt", "ab, ba. ab, ba. ab? ba. ab, ba.");
  testing::expect_error(ExitCode::kData,
                        [&] { load_data(load(run, {"data.path=" + name("new.txt")}), Targets::kRequired); });
}

TEST_F(EvaluateModel, NamesFeaturesThatDoNotFit) {
  const auto run = train_flowers();
  write("new.csv", "length,height,kind\n10,3,iris\n");
  testing::expect_error(ExitCode::kData,
                        [&] { load_data(load(run, {"data.path=" + name("new.csv")}), Targets::kRequired); });
}

TEST_F(EvaluateModel, ReportsForPeopleAndPrograms) {
  const TrainedModel trained = load(train_flowers());
  const InferenceData data = load_data(trained, Targets::kRequired);
  const ModelEvaluation evaluation{.metrics = {{"loss", 0.25}, {"accuracy", 0.5}},
                                   .times = {.num_samples = 4, .seconds = {0.0032, 0.003, 0.0035}}};
  const std::filesystem::path checkpoints = trained.checkpoint.parent_path();
  const std::string shared = "small/" + checkpoints.parent_path().filename().string() + "/checkpoints/" +
                             trained.checkpoint.filename().string();
  const std::string text =
      "model     small from " + shared +
      "\nlayer     naive on cpu, precision fp32\ndata      csv from flowers.csv: 4 validation "
      "samples\nloss                0.25\naccuracy            0.5\ntime      3.2 ms (3 ms .. 3.5 ms "
      "in 3 passes), 1,250 samples/s, 800.0 us a sample\n";
  EXPECT_EQ(evaluation_text(trained, data, evaluation), text);
  EXPECT_EQ(evaluation_text(trained, data, evaluation, {}, {{"host", "lab7"}}), text + "host          lab7\n");
  const auto json = nlohmann::json::parse(evaluation_json(trained, data, evaluation));
  EXPECT_EQ(json["checkpoint"], shared);
  EXPECT_EQ(json["metrics"], (nlohmann::json{{"loss", 0.25}, {"accuracy", 0.5}}));
  EXPECT_EQ(json["part"], "valid");
  EXPECT_EQ(json["samples"], 4);
  EXPECT_EQ(json["passes"], 3);
  EXPECT_EQ(json["seconds"], 0.0032);
  EXPECT_EQ(json["high_seconds"], 0.0035);
}

}  // namespace
}  // namespace rnnlab
