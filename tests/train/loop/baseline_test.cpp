// SPDX-License-Identifier: Apache-2.0
#include "train/loop/baseline.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/numbers.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

at::Tensor classes(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }
at::Tensor column(const std::vector<double>& values) { return at::tensor(values, at::kFloat).unsqueeze(1); }

Dataset dataset_of(Task task, int64_t num_outputs, const at::Tensor& train, const at::Tensor& valid) {
  Dataset dataset;
  dataset.shape = {task, 1, 1, num_outputs, false};
  dataset.train = {at::zeros({train.size(0), 1, 1}), train, {}};
  dataset.valid = {at::zeros({valid.size(0), 1, 1}), valid, {}};
  return dataset;
}

::testing::Matcher<double> is(double value) { return DoubleNear(value, 1e-12); }

TEST(Baselines, OfNumbersAreTheMeanOfTheTrainingPartAlone) {
  const Dataset data = dataset_of(Task::kRegression, 1, column({1, 2, 6}), column({3, 7}));
  const auto all = baselines(data, LossKind::kMse);
  ASSERT_EQ(all.size(), 1u);
  expect_golden(all[0].name);
  EXPECT_THAT(all[0].metrics,
              ElementsAre(Pair("valid_loss", is(8)), Pair("valid_mae", is(2)), Pair("valid_rmse", is(std::sqrt(8.0)))));
}

// Two targets were divided by 10 and by 100 for training.
TEST(Baselines, HaveTheUnitsOfTheTargets) {
  Dataset data = dataset_of(Task::kRegression, 2, at::tensor({0.0, 0.0}, at::kFloat).view({1, 2}),
                            at::tensor({1.0, 2.0}, at::kFloat).view({1, 2}));
  data.target_scales = {{"small", 5, 10}, {"large", 0, 100}};
  const Baseline mean = baselines(data, LossKind::kMse).at(0);
  EXPECT_THAT(mean.metrics.at("valid_loss"), is((1.0 + 4) / 2));
  EXPECT_THAT(mean.metrics.at("valid_mae"), is((10.0 + 200) / 2));
  EXPECT_THAT(mean.metrics.at("valid_rmse"), is(std::sqrt((10.0 * 10 + 200 * 200) / 2)));
}

TEST(Baselines, OfASeriesAreItsNaiveForecastsToo) {
  Dataset data = dataset_of(Task::kRegression, 1, column({0, 1}), column({2, 4}));
  data.naive_forecasts = {{"last value", column({1, 2})}};
  const auto all = baselines(data, LossKind::kMse);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "last value");
  EXPECT_THAT(all[0].metrics.at("valid_mae"), is(1.5));
}

// Validation has class 2, which training lacks: with one added to each count its frequency is 1 / (4 + 3).
TEST(Baselines, OfClassesAreTheFrequenciesOfTheTrainingPart) {
  const Dataset data = dataset_of(Task::kClassification, 3, classes({0, 0, 0, 1}), classes({0, 0, 1, 2}));
  const auto all = baselines(data, LossKind::kCrossEntropy);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "most frequent class");
  const double loss = -(2 * std::log(4.0 / 7) + std::log(2.0 / 7) + std::log(1.0 / 7)) / 4;
  EXPECT_THAT(all[0].metrics, ElementsAre(Pair("valid_accuracy", is(0.5)), Pair("valid_loss", is(loss))));
}

TEST(Baselines, OfASeriesOfClassesHaveItsLastClass) {
  Dataset data = dataset_of(Task::kClassification, 2, classes({0, 1}), classes({0, 1, 1, 1}));
  data.naive_forecasts = {{"last value", classes({0, 0, 1, 1})}};
  const auto all = baselines(data, LossKind::kCrossEntropy);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].metrics, ElementsAre(Pair("valid_accuracy", is(0.75))));
}

// Four tokens that are equally frequent have an entropy of two bits.
TEST(Baselines, OfATextAreTheEntropyOfItsTokens) {
  const at::Tensor tokens = classes({0, 1, 2, 3, 0, 1, 2, 3}).view({2, 4});
  const auto all = baselines(dataset_of(Task::kLanguageModel, 4, tokens, tokens), LossKind::kCrossEntropy);
  ASSERT_EQ(all.size(), 1u);
  expect_golden(all[0].name);
  EXPECT_THAT(all[0].metrics.at("valid_bits_per_character"), is(2));
  EXPECT_THAT(all[0].metrics.at("valid_perplexity"), is(4));
  EXPECT_THAT(all[0].metrics.at("valid_loss"), is(std::log(4.0)));
}

TEST(Baselines, OfBinaryTargetsAreTheirPartOfTheTrainingPart) {
  const Dataset data = dataset_of(Task::kBinary, 1, column({1, 1, 1, 0}), column({1, 0}));
  const auto all = baselines(data, LossKind::kBinaryCrossEntropy);
  ASSERT_EQ(all.size(), 1u);
  const double loss = -(std::log(4.0 / 6) + std::log(2.0 / 6)) / 2;
  EXPECT_THAT(all[0].metrics, ElementsAre(Pair("valid_accuracy", is(0.5)), Pair("valid_loss", is(loss))));
}

TEST(Baselines, OfABinarySeriesHaveItsLastValue) {
  Dataset data = dataset_of(Task::kBinary, 1, column({1, 0}), column({1, 0, 0, 0}));
  data.naive_forecasts = {{"last value", column({0, 1, 0, 0})}};
  const auto all = baselines(data, LossKind::kBinaryCrossEntropy);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "last value");
  EXPECT_THAT(all[0].metrics, ElementsAre(Pair("valid_accuracy", is(0.5))));
}

TEST(Baselines, NeedValidationSamples) {
  Dataset data = dataset_of(Task::kClassification, 2, classes({0, 1}), classes({0}));
  data.valid = {};
  EXPECT_THAT(baselines(data, LossKind::kCrossEntropy), IsEmpty());
}

constexpr double kNoTarget = std::numeric_limits<double>::quiet_NaN();

TEST(MissingTargets, HaveNoPartInBaselines) {
  Dataset dataset = dataset_of(Task::kRegression, 1, column({1, kNoTarget, 5}), column({4, kNoTarget, 7}));
  dataset.naive_forecasts = {{"last value", column({kNoTarget, 1, 5})}};
  const auto all = baselines(dataset, LossKind::kMse);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].metrics.at("valid_mae"), is(2));
  EXPECT_THAT(all[1].metrics.at("valid_mae"), is(2.5)) << "from the mean 3";
  dataset.naive_forecasts = {{"last value", column({kNoTarget, 1, kNoTarget})}};
  EXPECT_EQ(baselines(dataset, LossKind::kMse).size(), 1u) << "no target has a forecast";
}

TEST(MissingTargets, OfClassesHaveNoPartInBaselines) {
  Dataset dataset = dataset_of(Task::kClassification, 2, classes({0, 0, 0, -1, 1}), classes({0, -1, -1, 1, 1}));
  dataset.naive_forecasts = {{"last value", classes({0, 0, 0, -1, 0})}};
  const auto all = baselines(dataset, LossKind::kCrossEntropy);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_DOUBLE_EQ(all[0].metrics.at("valid_accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(all[1].metrics.at("valid_accuracy"), 1 / 3.0);
}

// A stratified split of balanced classes leaves one sample more of some classes, and these never validate.
TEST(MostFrequentClass, IsAnyOfThoseThatAreEquallyFrequent) {
  const auto accuracy = [](const at::Tensor& train) {
    const Dataset dataset = dataset_of(Task::kClassification, 4, train, classes({2, 3}));
    return baselines(dataset, LossKind::kCrossEntropy).at(0).metrics.at("valid_accuracy");
  };
  EXPECT_DOUBLE_EQ(accuracy(classes({0, 0, 1, 1, 2, 3})), 0.25);
  EXPECT_DOUBLE_EQ(accuracy(classes({0, 0, 0, 1, 2, 3})), 0);
}

}  // namespace
}  // namespace rnnlab
