// SPDX-License-Identifier: Apache-2.0
// Tests training and evaluation on data of which targets are missing: they have no part in losses, gradients and
// metrics, and means are over the targets that are known.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "train/loop/baseline.h"
#include "train/loop/objective.h"
#include "train/loop/toy.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

using ::testing::DoubleNear;
using ::testing::Pair;

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// ---- the objective ----

Objective objective_of(Task task, std::vector<ColumnScale> scales = {}) {
  Dataset dataset;
  dataset.shape.task = task;
  dataset.target_scales = std::move(scales);
  return {LossKind::kAuto, dataset, at::Device(at::kCPU)};
}

Batch batch_of(const at::Tensor& targets, const at::Tensor& counts) {
  Batch batch{.inputs = {}, .targets = targets, .lengths = {}};
  batch.target_counts = counts;
  return batch;
}

void expect_same(const Evaluation& actual, const Evaluation& expected) {
  EXPECT_NEAR(actual.loss.item<double>(), expected.loss.item<double>(), 1e-6);
  EXPECT_NEAR(actual.weighted_loss.item<double>(), expected.weighted_loss.item<double>(), 1e-6);
  EXPECT_NEAR(actual.metric_sum.item<double>(), expected.metric_sum.item<double>(), 1e-6);
  EXPECT_EQ(actual.count, expected.count);
}

// Returns the gradient of the loss in the output, and compares the evaluation with that of the known targets alone.
at::Tensor known_gradient(const Objective& objective, const at::Tensor& output, const Batch& batch,
                          const at::Tensor& known_output, const at::Tensor& known_targets) {
  output.requires_grad_();
  const Evaluation evaluation = objective.evaluate(output, batch);
  expect_same(evaluation, objective.evaluate(known_output, {.inputs = {}, .targets = known_targets, .lengths = {}}));
  evaluation.loss.backward();
  return output.grad();
}

TEST(MissingTargets, OfNumbersHaveNeitherLossNorGradient) {
  const at::Tensor targets = at::tensor({1.F, kUnknown, kUnknown, 4.F}).view({2, 2});
  const Batch batch = batch_of(targets, at::tensor({1, 1}, at::kLong));
  const at::Tensor gradient =
      known_gradient(objective_of(Task::kRegression), at::tensor({3.F, 9.F, 9.F, 3.F}).view({2, 2}), batch,
                     at::tensor({3.F, 3.F}).view({1, 2}), at::tensor({1.F, 4.F}).view({1, 2}));
  EXPECT_TRUE(gradient.equal(at::tensor({2.F, 0.F, 0.F, -1.F}).view({2, 2}))) << gradient;
}

// The second target is ten times as large in its own units.
TEST(MissingTargets, OfNumbersHaveTheUnitsOfTheOthers) {
  const Objective objective = objective_of(Task::kRegression, {{"small", 0, 1}, {"large", 0, 10}});
  const Batch batch = batch_of(at::tensor({0.F, kUnknown, 0.F, 0.F}).view({2, 2}), at::tensor({1, 2}, at::kLong));
  Totals totals;
  const Evaluation evaluation = objective.evaluate(at::tensor({1.F, 5.F, 2.F, 3.F}).view({2, 2}), batch);
  add_row({.loss = evaluation.loss.item<double>(),
           .weighted_loss = evaluation.weighted_loss.item<double>(),
           .metric_sum = evaluation.metric_sum.item<double>(),
           .count = evaluation.count},
          totals);
  const MetricValues metrics = objective.metrics(totals);
  EXPECT_NEAR(metrics.at("loss"), (1 + 4 + 9) / 3.0, 1e-6);
  EXPECT_NEAR(metrics.at("mae"), (1 + 2 + 30) / 3.0, 1e-5);
  EXPECT_NEAR(metrics.at("rmse"), std::sqrt((1 + 4 + 900) / 3.0), 1e-5);
}

TEST(MissingTargets, OfTwoValuesHaveNeitherLossNorGradient) {
  const Batch batch = batch_of(at::tensor({1.F, kUnknown, 0.F}).view({3, 1}), at::tensor({1, 0, 1}, at::kLong));
  const at::Tensor gradient =
      known_gradient(objective_of(Task::kBinary), at::tensor({0.F, -7.F, 2.F}).view({3, 1}), batch,
                     at::tensor({0.F, 2.F}).view({2, 1}), at::tensor({1.F, 0.F}).view({2, 1}));
  EXPECT_EQ(gradient[1].item<float>(), 0);
  EXPECT_NEAR(gradient[0].item<double>(), -0.25, 1e-6);
}

TEST(MissingTargets, OfClassesHaveNeitherLossNorGradient) {
  const at::Tensor logits = at::tensor({0.F, 1.F, 5.F, -5.F, 2.F, 0.F}).view({3, 2});
  const Batch batch = batch_of(at::tensor({1, -1, 0}, at::kLong), at::tensor({1, 0, 1}, at::kLong));
  const at::Tensor known_logits = at::tensor({0.F, 1.F, 2.F, 0.F}).view({2, 2}), known = at::tensor({1, 0}, at::kLong);
  Objective objective = objective_of(Task::kClassification);
  EXPECT_TRUE(known_gradient(objective, logits.clone(), batch, known_logits, known)[1].equal(at::zeros({2})));
  objective.weight_classes(at::tensor({0.5F, 3.F}));
  EXPECT_TRUE(known_gradient(objective, logits.clone(), batch, known_logits, known)[1].equal(at::zeros({2})));
}

// (T, B) = (2, 2): step 1 of sequence 1 is padding, and step 0 of sequence 0 has no class.
TEST(MissingTargets, OfStepsAreLeftOutLikePadding) {
  Batch batch = batch_of(at::tensor({-1, 1, 0, 0}, at::kLong).view({2, 2}), at::tensor({1, 1}, at::kLong));
  batch.lengths = at::tensor({2, 1}, at::kLong);
  const at::Tensor logits = at::tensor({9.F, 0.F, 0.F, 1.F, 3.F, 0.F, 9.F, 9.F}).view({2, 2, 2});
  const Objective objective = objective_of(Task::kClassification);
  const at::Tensor known_logits = at::tensor({0.F, 1.F, 3.F, 0.F}).view({2, 2});
  expect_same(
      objective.evaluate(logits, batch),
      objective.evaluate(known_logits, {.inputs = {}, .targets = at::tensor({1, 0}, at::kLong), .lengths = {}}));
}

TEST(MissingTargets, HaveNoPartInClassWeights) {
  Samples samples;
  samples.targets = at::tensor({0, 0, -1, 0, 1, -1}, at::kLong);
  EXPECT_TRUE(balanced_class_weights(samples, 2).allclose(at::tensor({4.F / 6, 2.F})));
}

// ---- training ----

// Two targets of each sample, of which a third is missing, but never both.
Dataset dataset_with_missing(Task task = Task::kRegression) {
  const auto generator = at::detail::createCPUGenerator(3);
  Dataset dataset = toy_dataset(100, 40, Task::kRegression);
  dataset.shape.task = task;
  dataset.shape.num_outputs = 2;
  for (Samples* part : {&dataset.train, &dataset.valid}) {
    const at::Tensor other = part->inputs.select(2, 0).mean({1}, true).gt(0).to(at::kFloat);
    part->targets = at::cat({part->targets, other}, 1).contiguous();
    const at::Tensor draw = at::rand({part->size()}, generator);
    part->targets.select(1, 0).masked_fill_(draw.lt(0.4), kUnknown);
    part->targets.select(1, 1).masked_fill_(draw.gt(0.9), kUnknown);
  }
  return dataset;
}

std::vector<at::Tensor> weights_after(const Dataset& dataset, const TrainerOptions& options) {
  const auto model = toy_model(dataset);
  Trainer(*model, dataset, options).run();
  return model->parameters();
}

void expect_near(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::allclose(actual[i], expected[i], 1e-4, 1e-6)) << i;
}

// A mean of the means of parts would weigh a target among few like one among many.
TEST(MissingTargets, LetTheOthersWeighTheSameHoweverABatchIsCut) {
  const Dataset dataset = dataset_with_missing();
  auto options = toy_options();
  options.settings.optimizer = OptimizerKind::kSgd;
  options.settings.learning_rate = 0.5;
  options.settings.batch_size = 30;
  const auto whole = weights_after(dataset, options);
  auto accumulated = options;
  accumulated.settings.batch_size = 10;
  accumulated.settings.accumulate = 3;
  expect_near(weights_after(dataset, accumulated), whole);
  for (const int64_t shards : {2, 8}) {
    auto sharded = options;
    sharded.settings.shards = shards;
    expect_near(weights_after(dataset, sharded), whole);
  }
}

TEST(MissingTargets, LetTheLossOfAnEpochBeTheMeanOverTheOthers) {
  const Dataset dataset = dataset_with_missing();
  auto options = toy_options();
  options.settings.learning_rate = 1e-30;  // the weights stay as they are
  options.settings.epochs = 1;
  const EpochRow row = run_toy(dataset, options).seen.rows.front();
  const auto model = toy_model(dataset);
  model->eval();
  const auto mean_over = [&](const Samples& samples) {
    Batch batch{.inputs = samples.inputs.transpose(0, 1).contiguous(), .targets = {}, .lengths = {}};
    batch.size = samples.size();
    const at::Tensor errors =
        (model->forward(batch) - samples.targets).square().masked_select(are_known(samples.targets));
    return errors.mean().item<double>();
  };
  EXPECT_NEAR(row.train_loss, mean_over(dataset.train), 1e-5);
  for (const int64_t batch_size : {7, 1000}) {
    options.settings.valid_batch_size = batch_size;
    EXPECT_NEAR(run_toy(dataset, options).seen.rows.front().valid_loss.value(), mean_over(dataset.valid), 1e-5);
  }
}

TEST(MissingTargets, OfBinaryTargetsAreLearnedFrom) {
  auto options = toy_options();
  options.settings.epochs = 20;
  const auto rows = run_toy(dataset_with_missing(Task::kBinary), options).seen.rows;
  EXPECT_LT(rows.back().valid_loss.value(), rows.front().valid_loss.value());
  EXPECT_LE(rows.back().metrics.at("valid_accuracy"), 1);
  EXPECT_GT(rows.back().metrics.at("valid_accuracy"), 0.7);
}

// ---- baselines and messages ----

TEST(MissingTargets, HaveNoPartInBaselines) {
  Dataset dataset;
  dataset.shape = {Task::kRegression, 1, 1, 1, false};
  const auto column = [](const std::vector<float>& values) { return at::tensor(values).unsqueeze(1); };
  dataset.train.inputs = at::zeros({3, 1, 1});
  dataset.train.targets = column({1, kUnknown, 5});
  dataset.valid.inputs = at::zeros({3, 1, 1});
  dataset.valid.targets = column({4, kUnknown, 7});
  dataset.naive_forecasts = {{"last value", column({kUnknown, 1, 5})}};
  const auto all = baselines(dataset, LossKind::kMse);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].metrics, ::testing::Contains(Pair("valid_mae", DoubleNear(2, 1e-9))));
  EXPECT_THAT(all[1].metrics, ::testing::Contains(Pair("valid_mae", DoubleNear(2.5, 1e-9)))) << "from the mean 3";
  dataset.naive_forecasts = {{"last value", column({kUnknown, 1, kUnknown})}};
  EXPECT_EQ(baselines(dataset, LossKind::kMse).size(), 1u) << "no target has a forecast";
}

TEST(MissingTargets, OfClassesHaveNoPartInBaselines) {
  Dataset dataset;
  dataset.shape = {Task::kClassification, 1, 1, 2, false};
  dataset.train.inputs = dataset.valid.inputs = at::zeros({5, 1, 1});
  dataset.train.targets = at::tensor({0, 0, 0, -1, 1}, at::kLong);
  dataset.valid.targets = at::tensor({0, -1, -1, 1, 1}, at::kLong);
  dataset.naive_forecasts = {{"last value", at::tensor({0, 0, 0, -1, 0}, at::kLong)}};
  const auto all = baselines(dataset, LossKind::kCrossEntropy);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_DOUBLE_EQ(all[0].metrics.at("valid_accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(all[1].metrics.at("valid_accuracy"), 1 / 3.0);
}

// A stratified split of balanced classes leaves one sample more of some classes, and these never validate.
TEST(MostFrequentClass, IsAnyOfThoseThatAreEquallyFrequent) {
  Dataset dataset;
  dataset.shape = {Task::kClassification, 1, 1, 4, false};
  dataset.train.inputs = dataset.valid.inputs = at::zeros({2, 1, 1});
  dataset.train.targets = at::tensor({0, 0, 1, 1, 2, 3}, at::kLong);
  dataset.valid.targets = at::tensor({2, 3}, at::kLong);
  EXPECT_DOUBLE_EQ(baselines(dataset, LossKind::kCrossEntropy).at(0).metrics.at("valid_accuracy"), 0.25);
  dataset.train.targets = at::tensor({0, 0, 0, 1, 2, 3}, at::kLong);
  EXPECT_DOUBLE_EQ(baselines(dataset, LossKind::kCrossEntropy).at(0).metrics.at("valid_accuracy"), 0);
}

}  // namespace
}  // namespace rnnlab
