// SPDX-License-Identifier: Apache-2.0
#include "runs/use/detailed_metrics.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "golden.h"
#include "runs/use/predict.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns predictions of classes by name; each row of `raw` is a sample.
Predictions of_classes(const std::vector<std::string>& names, const std::vector<float>& raw,
                       const std::vector<int64_t>& targets) {
  Predictions predictions;
  predictions.names = names;
  predictions.raw = at::tensor(raw).view({-1, static_cast<int64_t>(names.size())});
  predictions.targets = at::tensor(targets, at::kLong);
  return predictions;
}

// Four cats, one of them seen as a dog; two dogs, one of them seen as a cat; nothing is seen as a fox.
Predictions cats_and_dogs() {
  return of_classes({"cat", "dog", "fox"}, {9, 0, 0, 9, 0, 0, 9, 0, 0, 0, 9, 0, 0, 9, 0, 9, 0, 0}, {0, 0, 0, 0, 1, 1});
}

TEST(DetailedMetrics, AreOfEachClass) {
  const DetailedMetrics metrics = detailed_metrics(cats_and_dogs());
  EXPECT_THAT(metrics.confusion, ElementsAre(ElementsAre(3, 1, 0), ElementsAre(1, 1, 0), ElementsAre(0, 0, 0)));
  ASSERT_EQ(metrics.classes.size(), 3u);
  const ClassMetrics& cat = metrics.classes[0];
  EXPECT_EQ(cat.name, "cat");
  EXPECT_EQ(cat.num_rows, 4);
  EXPECT_EQ(cat.precision, 0.75);
  EXPECT_EQ(cat.recall, 0.75);
  EXPECT_EQ(cat.f1, 0.75);
  EXPECT_EQ(metrics.classes[1].precision, 0.5);
}

TEST(DetailedMetrics, LackWhatAClassWithoutSamplesCannotHave) {
  const ClassMetrics fox = detailed_metrics(cats_and_dogs()).classes[2];
  EXPECT_EQ(fox.num_rows, 0);
  EXPECT_EQ(fox.precision, std::nullopt);
  EXPECT_EQ(fox.recall, std::nullopt);
  EXPECT_EQ(fox.f1, std::nullopt);
}

// The matrix of 20,000 classes would take 3 GB.
TEST(DetailedMetrics, HaveNoMatrixOfVeryManyClasses) {
  constexpr int64_t kClasses = 1001;
  Predictions predictions;
  for (int64_t i = 0; i < kClasses; ++i) predictions.names.push_back(std::to_string(i));
  predictions.raw = at::zeros({2, kClasses});
  predictions.raw[0][7] = 1;
  predictions.raw[1][7] = 1;
  predictions.targets = at::tensor({int64_t{7}, int64_t{8}}, at::kLong);
  const DetailedMetrics metrics = detailed_metrics(predictions);
  EXPECT_THAT(metrics.confusion, IsEmpty());
  ASSERT_EQ(metrics.classes.size(), 1001u);
  EXPECT_EQ(metrics.classes[7].precision, 0.5);
  EXPECT_EQ(metrics.classes[7].recall, 1);
  EXPECT_EQ(metrics.classes[8].recall, 0);
}

TEST(DetailedMetrics, ExistForClassesAndForSeveralNumbers) {
  EXPECT_TRUE(has_detailed_metrics({Task::kClassification, 1, 1, 3}));
  EXPECT_TRUE(has_detailed_metrics({Task::kBinary, 1, 1, 1}));
  EXPECT_FALSE(has_detailed_metrics({Task::kBinary, 1, 1, 2}));
  EXPECT_TRUE(has_detailed_metrics({Task::kRegression, 1, 1, 2}));
  EXPECT_FALSE(has_detailed_metrics({Task::kRegression, 1, 1, 1}));
  EXPECT_FALSE(has_detailed_metrics({Task::kLanguageModel, 9, 1, 9}));
}

TEST(DetailedMetrics, AreTables) { expect_golden(detailed_metrics_text(detailed_metrics(cats_and_dogs()))); }

TEST(DetailedMetrics, AreJson) {
  nlohmann::ordered_json json;
  add_detailed_metrics(detailed_metrics(cats_and_dogs()), json);
  EXPECT_EQ(json["confusion_matrix"].dump(), "[[3,1,0],[1,1,0],[0,0,0]]");
  EXPECT_EQ(json["classes"][1].dump(), R"({"name":"dog","samples":2,"precision":0.5,"recall":0.5,"f1":0.5})");
  EXPECT_TRUE(json["classes"][2]["precision"].is_null());
  nlohmann::ordered_json of_steps;
  Predictions steps = cats_and_dogs();
  steps.row = "step";
  add_detailed_metrics(detailed_metrics(steps), of_steps);
  EXPECT_EQ(of_steps["classes"][1].dump(), R"({"name":"dog","steps":2,"precision":0.5,"recall":0.5,"f1":0.5})");
}

TEST(DetailedMetrics, OfOneBinaryTargetAreOfNoAndYes) {
  Predictions predictions = of_classes({"churned"}, {2, 1, -1}, {});
  predictions.kind = PredictionKind::kProbabilities;
  predictions.targets = at::tensor({1.0, 0.0, 0.0}, at::kDouble).unsqueeze(1);
  const DetailedMetrics metrics = detailed_metrics(predictions);
  EXPECT_THAT(metrics.confusion, ElementsAre(ElementsAre(1, 1), ElementsAre(0, 1)));
  EXPECT_EQ(metrics.classes[1].name, "1");
  EXPECT_EQ(metrics.classes[1].precision, 0.5);
  EXPECT_EQ(metrics.classes[1].recall, 1.0);
}

TEST(DetailedMetrics, OfSeveralTargetsAreTheirErrorsInTheirOwnUnits) {
  Predictions predictions;
  predictions.kind = PredictionKind::kValues;
  predictions.names = {"level", "flow"};
  predictions.values = at::tensor({100.0, 1.0, 110.0, 2.0}, at::kDouble).view({2, 2});
  predictions.targets = at::tensor({101.0, 1.5, 103.0, 2.5}, at::kDouble).view({2, 2});
  const DetailedMetrics metrics = detailed_metrics(predictions);
  EXPECT_THAT(metrics.classes, IsEmpty());
  ASSERT_EQ(metrics.targets.size(), 2u);
  EXPECT_EQ(metrics.targets[0].mean_absolute_error, 4.0);
  EXPECT_EQ(metrics.targets[0].root_mean_squared_error, 5.0);
  expect_golden(detailed_metrics_text(metrics));
}

TEST(DetailedMetrics, LeaveOutMissingTargets) {
  Predictions classes = cats_and_dogs();
  classes.targets = at::tensor({0, -1, 0, 0, 1, -1}, at::kLong);
  EXPECT_THAT(detailed_metrics(classes).confusion,
              ElementsAre(ElementsAre(2, 1, 0), ElementsAre(0, 1, 0), ElementsAre(0, 0, 0)));
  Predictions binary = of_classes({"churned"}, {2, 1, -1}, {});
  binary.kind = PredictionKind::kProbabilities;
  binary.targets = at::tensor({1.0, std::nan(""), std::nan("")}, at::kDouble).unsqueeze(1);
  EXPECT_THAT(detailed_metrics(binary).confusion, ElementsAre(ElementsAre(0, 0), ElementsAre(0, 1)));
  Predictions values;
  values.kind = PredictionKind::kValues;
  values.names = {"level", "flow"};
  values.values = at::tensor({100.0, 1.0, 110.0, 2.0}, at::kDouble).view({2, 2});
  values.targets = at::tensor({101.0, std::nan(""), std::nan(""), 2.5}, at::kDouble).view({2, 2});
  EXPECT_EQ(detailed_metrics(values).targets[0].mean_absolute_error, 1.0);
  EXPECT_EQ(detailed_metrics(values).targets[1].root_mean_squared_error, 0.5);
}

TEST(DetailedMetrics, OfOneNumberAreThoseOfTheEvaluation) {
  Predictions predictions;
  predictions.kind = PredictionKind::kValues;
  predictions.names = {"level"};
  predictions.values = predictions.targets = at::tensor({100.0}, at::kDouble).unsqueeze(1);
  EXPECT_EQ(detailed_metrics_text(detailed_metrics(predictions)), "");
}

}  // namespace
}  // namespace rnnlab
