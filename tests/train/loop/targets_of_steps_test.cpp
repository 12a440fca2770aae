// SPDX-License-Identifier: Apache-2.0
// Tests training on a target for each step, by a task whose best loss is known: each step has a random bit, and its
// class is whether the bit differs from the bit before it; a tenth of the classes are wrong at random.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <cmath>

#include "base/expect_error.h"
#include "train/loop/toy.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

using testing::expect_error;

constexpr double kWrong = 0.1;
constexpr int64_t kNumSteps = 9;

// The entropy of the wrong classes, in nats: no model has a smaller expected loss.
double best_loss() { return -kWrong * std::log(kWrong) - (1 - kWrong) * std::log(1 - kWrong); }

Samples tagged_bits(int64_t num_samples, const at::Generator& generator) {
  const at::Tensor bits = at::randint(2, {num_samples, kNumSteps}, generator, at::TensorOptions(at::kLong));
  const at::Tensor before = at::cat({at::zeros({num_samples, 1}, at::kLong), bits.narrow(1, 0, kNumSteps - 1)}, 1);
  const at::Tensor is_wrong = at::rand({num_samples, kNumSteps}, generator).lt(kWrong);
  Samples samples;
  samples.inputs = bits.to(at::kFloat).mul(2).sub(1).unsqueeze(2).contiguous();
  samples.targets = bits.ne(before).logical_xor(is_wrong).to(at::kLong);
  samples.lengths = at::randint(1, kNumSteps + 1, {num_samples}, generator, at::TensorOptions(at::kLong));
  return samples;
}

Dataset tagged_dataset(int64_t num_train = 90, int64_t num_valid = 400) {
  const auto generator = at::detail::createCPUGenerator(11);
  Dataset dataset;
  dataset.train = tagged_bits(num_train, generator);
  dataset.valid = tagged_bits(num_valid, generator);
  dataset.shape = {.task = Task::kClassification,
                   .input_size = 1,
                   .sequence_length = kNumSteps,
                   .num_outputs = 2,
                   .has_lengths = true,
                   .target_per_step = true};
  return dataset;
}

TEST(TargetsOfSteps, AreLearnedToTheBestLossByEveryLayer) {
  const Dataset dataset = tagged_dataset(3000);
  auto options = toy_options();
  options.settings.epochs = 12;
  std::vector<double> losses;
  for (const LayerKind layer : {LayerKind::kNaive, LayerKind::kFused, LayerKind::kHoisted, LayerKind::kBlocked}) {
    const EpochRow last = run_toy(dataset, options, /*output_dropout=*/0, layer).seen.rows.back();
    EXPECT_LT(*last.valid_loss, best_loss() + 0.03);
    EXPECT_GT(last.metrics.at("valid_accuracy"), 1 - kWrong - 0.03);
    losses.push_back(*last.valid_loss);
  }
  for (const double loss : losses) EXPECT_NEAR(loss, losses.front(), 1e-3) << "all layers compute the same";
}

TEST(TargetsOfSteps, BeyondALengthDoNotMatter) {
  Dataset dataset = tagged_dataset();
  const auto run = run_toy(dataset, toy_options());
  for (Samples* part : {&dataset.train, &dataset.valid}) {
    const at::Tensor steps = at::arange(kNumSteps, at::kLong).unsqueeze(0);
    part->targets.masked_fill_(steps.ge(part->lengths.unsqueeze(1)), 1);
  }
  const auto other = run_toy(dataset, toy_options());
  EXPECT_EQ(other.weights, run.weights);
  EXPECT_EQ(other.seen.rows.back().valid_loss, run.seen.rows.back().valid_loss);
}

std::vector<at::Tensor> trained_weights(const Dataset& dataset, const TrainerOptions& options) {
  const auto model = toy_model(dataset);
  Trainer(*model, dataset, options).run();
  return model->parameters();
}

void expect_close(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::allclose(actual[i], expected[i], 1e-4, 1e-6)) << i;
}

// A mean of the means of parts would weigh a short sequence like a long one.
TEST(TargetsOfSteps, WeighTheSameHoweverABatchIsCut) {
  const Dataset dataset = tagged_dataset();
  auto options = toy_options();
  options.settings.optimizer = OptimizerKind::kSgd;
  options.settings.learning_rate = 1.0;
  options.settings.batch_size = 30;
  const auto whole = trained_weights(dataset, options);
  auto accumulated = options;
  accumulated.settings.batch_size = 10;
  accumulated.settings.accumulate = 3;
  expect_close(trained_weights(dataset, accumulated), whole);
  auto sharded = options;
  sharded.settings.shards = 4;
  expect_close(trained_weights(dataset, sharded), whole);
}

TEST(TargetsOfSteps, AreCountedByStep) {
  const Dataset dataset = tagged_dataset();
  auto options = toy_options();
  options.settings.batch_by_length = true;
  for (const auto& row : run_toy(dataset, options).seen.rows) {
    const double right = row.metrics.at("valid_accuracy") * static_cast<double>(dataset.valid.num_steps());
    EXPECT_NEAR(right, std::round(right), 1e-6);
  }
}

TEST(BatchesByLength, NeedLengths) {
  auto options = toy_options();
  options.settings.batch_by_length = true;
  expect_error(ExitCode::kUsage, [&] { run_toy(toy_dataset(), options); });
}

// ---- class weights ----

TEST(ClassWeights, LetARareClassCountAsMuchInTraining) {
  Dataset dataset = toy_dataset(128, 64);
  dataset.train.targets = dataset.train.inputs.mean({1, 2}).gt(0.3).to(at::kLong);  // about one in eight
  auto options = toy_options();
  options.settings.epochs = 1;
  options.settings.max_steps = 1;
  options.settings.batch_size = 128;
  const auto plain = run_toy(dataset, options);
  options.settings.class_weights = ClassWeights::kBalanced;
  const auto balanced = run_toy(dataset, options);
  EXPECT_NE(balanced.seen.losses.front(), plain.seen.losses.front());
  EXPECT_NE(balanced.weights, plain.weights);
  options.settings.learning_rate = 1e-30;  // the weights stay as they are
  const auto still = run_toy(dataset, options);
  options.settings.class_weights = ClassWeights::kNone;
  EXPECT_EQ(still.seen.rows.front().valid_loss, run_toy(dataset, options).seen.rows.front().valid_loss)
      << "losses of validation have no weights";
}

// The loss of the first step is then the mean of the mean losses of the classes.
TEST(ClassWeights, GiveEachClassTheSameShareOfTheLoss) {
  Dataset dataset = toy_dataset(128, 0);
  dataset.train.targets = dataset.train.inputs.mean({1, 2}).gt(0.3).to(at::kLong);
  auto options = toy_options();
  options.settings.epochs = 1;
  options.settings.batch_size = 128;
  const auto first_loss_of = [&](const Samples& samples) {
    Dataset some = dataset;
    some.train = samples;
    return run_toy(some, options).seen.losses.front();
  };
  std::vector<double> by_class;
  for (const int64_t one : {0, 1}) {
    const at::Tensor rows = dataset.train.targets.eq(one).nonzero().flatten();
    by_class.push_back(first_loss_of({dataset.train.inputs.index_select(0, rows), at::full_like(rows, one), {}}));
  }
  options.settings.class_weights = ClassWeights::kBalanced;
  EXPECT_NEAR(first_loss_of(dataset.train), (by_class[0] + by_class[1]) / 2, 1e-5);
}

TEST(ClassWeights, AreOnlyForClasses) {
  auto options = toy_options();
  options.settings.class_weights = ClassWeights::kBalanced;
  expect_error(ExitCode::kUsage, [&] { run_toy(toy_dataset(64, 32, Task::kRegression), options); });
}

}  // namespace
}  // namespace rnnlab
