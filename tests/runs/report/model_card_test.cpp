// SPDX-License-Identifier: Apache-2.0
#include "runs/report/model_card.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/config/document.h"
#include "golden.h"

namespace rnnlab::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Experiment experiment_of(const std::string& yaml) {
  config::Findings findings;
  const auto document = config::Document::from_text(yaml, "card.yaml", findings);
  Experiment experiment = config::read(document, Experiment::schema(), findings);
  findings.throw_if_any();
  return experiment;
}

ModelOrigin origin() {
  return {.software = {.rnnlab = "0.2.0", .libtorch = "2.11.0", .cuda = "", .cudnn = ""},
          .cpu_model = "AMD EPYC",
          .gpu_model = "",
          .data_fingerprint = "0123abcd",
          .epoch = 4,
          .step = 1200};
}

// A forecaster of the sales of shops, with all that a run can know.
SavedModel forecaster() {
  SavedModel model{
      .experiment = experiment_of(
          "name: shops\ndevice: cpu\n"
          "data: {source: csv, path: /home/me/shops.csv, features: [price], target: [sales], categories: [shop], "
          "time: day, calendar: [weekday], window: 14, horizon: 1..2, missing: mean, num_test: 30}\n"
          "model: {kind: sequence_regressor, hidden_size: 8, bidirectional: true}\ntraining: {loss: quantile}\n"),
      .data = {.shape = {.task = Task::kRegression,
                         .input_size = 4,
                         .sequence_length = 14,
                         .num_outputs = 2,
                         .category_sizes = {3},
                         .numbers_per_target = 3},
               .vocabulary = {},
               .target_scales = {{"sales+1", 57.25, 46.5}, {"sales+2", 57.5, 46.125}},
               .normalization = Normalization::kStandard,
               .feature_scales = {{"price", 2, 1.5}, {"sin(weekday)", 0, 1}, {"cos(weekday)", 0, 1}, {"shop", 0, 1}},
               .column_means = {},
               .categories = {{"shop", {"a|b", "north"}}}},
      .origin = origin(),
      .weights = {{"recurrent.weight_ih_l0", at::zeros({32, 4})}, {"output.bias", at::zeros({6})}}};
  model.origin.started = "2026-11-30T21:53:56Z";
  model.origin.num_epochs = 6;
  model.origin.fit_seconds = 12.5;
  model.origin.metrics = {{"train_loss", 0.1}, {"valid_loss", 0.25}, {"valid_rmse", 3.5}, {"valid_mae", 2.5}};
  model.origin.baselines = {{"last value", {{"valid_rmse", 5}, {"valid_mae", 4}}}};
  return model;
}

std::vector<CardPart> parts_of_forecaster() {
  CardPart test{.part = DataPart::kTest, .num_samples = 30, .first_time = "2026-07-01", .last_time = "2026-07-30"};
  test.quality = PartQuality{.part = DataPart::kTest,
                             .model = {{"valid_loss", 0.5}, {"valid_rmse", 6}, {"valid_mae", 5}},
                             .baselines = {{"last value", {{"valid_rmse", 5}, {"valid_mae", 4}}}},
                             .notes = {}};
  return {{.part = DataPart::kTrain, .num_samples = 1200, .first_time = "2023-01-15", .last_time = "2026-06-01"}, test};
}

TEST(ModelCard, OfAForecastHasDataScalesAndResults) {
  expect_golden(model_card(forecaster(), parts_of_forecaster(), "shops.safetensors"));
}

// Neither the data nor the folder of the run are there.
TEST(ModelCard, LeavesOutWhatIsNotKnown) {
  const SavedModel model{
      .experiment = experiment_of(
          "name: words\ndevice: cpu\nlayer: naive\ndata: {source: text, path: words.txt}\n"
          "model: {kind: language_model, hidden_size: 4, cell: {name: leaky, gates: [n], states: [h], vectors: [p], "
          "equations: \"# ``` <b>\\nh = tanh(n) + sigmoid(p) * h\"}}\n"),
      .data = {.shape = {.task = Task::kLanguageModel, .input_size = 3, .sequence_length = 50, .num_outputs = 3},
               .vocabulary = {"a", "b", "c"},
               .target_scales = {},
               .normalization = Normalization::kNone,
               .feature_scales = {},
               .column_means = {}},
      .origin = origin(),
      .weights = {{"output.bias", at::zeros({3})}}};
  const std::string card = model_card(model, {}, "RUN");
  expect_golden(card);
  EXPECT_THAT(card, Not(HasSubstr("Results")));
}

TEST(ModelCard, HasNoFoldersAndNoMarkup) {
  SavedModel model = forecaster();
  model.experiment.data.target = {"<script>|*a*"};
  const std::string card = model_card(model, parts_of_forecaster(), "shops.safetensors");
  EXPECT_THAT(card, Not(HasSubstr("/home/me")));
  EXPECT_THAT(card, Not(HasSubstr("<script>")));
  EXPECT_THAT(card, Not(HasSubstr("|*a*")));
}

// A file of unknown origin may hold any number.
TEST(ModelCard, TakesNumbersThatNoRunHas) {
  SavedModel model = forecaster();
  model.origin.epoch = model.origin.num_epochs = std::numeric_limits<int64_t>::min();
  model.data.target_scales[0].scale = std::numeric_limits<double>::infinity();
  for (const double value : {std::nan(""), -std::numeric_limits<double>::infinity(), -1e300}) {
    model.origin.fit_seconds = value;
    for (auto& [name, metric] : model.origin.metrics) metric = value;
    EXPECT_THAT(model_card(model, {}, "shops.safetensors"), HasSubstr("## Results"));
  }
}

}  // namespace
}  // namespace rnnlab::report
