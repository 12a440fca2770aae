// SPDX-License-Identifier: Apache-2.0
#include "train/loop/objective.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "golden.h"
#include "layers/on_cuda.h"
#include "train/loop/step_record.h"
#include "train/loop/toy.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

Objective objective_for(Task task, LossKind loss = LossKind::kAuto, std::vector<ColumnScale> scales = {}) {
  Dataset dataset;
  dataset.shape.task = task;
  dataset.target_scales = std::move(scales);
  return {with_loss(loss), dataset, at::Device(at::kCPU)};
}

Batch with_targets(const at::Tensor& targets, const at::Tensor& lengths = {}) {
  return {.inputs = {}, .targets = targets, .lengths = lengths};
}

StepRow to_host(const Evaluation& evaluation) {
  return {.loss = evaluation.loss.item<double>(),
          .weighted_loss = evaluation.weighted_loss.item<double>(),
          .metric_sum = evaluation.metric_sum.item<double>(),
          .count = evaluation.count};
}

TEST(Objective, AutoTakesWhatTheTaskAsksFor) {
  EXPECT_EQ(objective_for(Task::kClassification).loss().kind(), LossKind::kCrossEntropy);
  EXPECT_EQ(objective_for(Task::kLanguageModel).loss().kind(), LossKind::kCrossEntropy);
  EXPECT_EQ(objective_for(Task::kBinary).loss().kind(), LossKind::kBinaryCrossEntropy);
  EXPECT_EQ(objective_for(Task::kRegression).loss().kind(), LossKind::kMse);
}

std::string error_of(Task task, LossKind loss) {
  try {
    objective_for(task, loss);
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Objective, RefusesALossThatTheTargetsCannotHave) {
  expect_golden(error_of(Task::kClassification, LossKind::kMse));
  expect_golden(error_of(Task::kRegression, LossKind::kCrossEntropy));
  EXPECT_EQ(error_of(Task::kRegression, LossKind::kBinaryCrossEntropy), "no error");
}

TEST(CrossEntropy, IsTheMeanNegativeLogOfTheRightClass) {
  // Softmax of (0, ln 3) is (1/4, 3/4).
  const auto logits = at::tensor({0.0F, std::log(3.0F), 0.0F, std::log(3.0F)}).view({2, 2});
  const auto evaluation =
      objective_for(Task::kClassification).evaluate(logits, with_targets(at::tensor({1, 0}, at::kLong)));
  EXPECT_NEAR(evaluation.loss.item<double>(), (-std::log(0.75) - std::log(0.25)) / 2, 1e-6);
  EXPECT_EQ(evaluation.metric_sum.item<double>(), 1.0);
  EXPECT_EQ(evaluation.count, 2);
}

TEST(CrossEntropy, CountsTokensForALanguageModel) {
  const auto objective = objective_for(Task::kLanguageModel);
  const auto evaluation = objective.evaluate(at::zeros({3, 2, 4}), with_targets(at::zeros({3, 2}, at::kLong)));
  EXPECT_EQ(evaluation.count, 6);
  EXPECT_NEAR(evaluation.loss.item<double>(), std::log(4.0), 1e-6);
}

TEST(CrossEntropy, LeavesOutStepsBeyondALength) {
  const auto logits = at::tensor({0.0F, 0.0F, 5.0F, -5.0F, 0.0F, 9.0F, 7.0F, 0.0F}).view({2, 2, 2});  // (T, B, classes)
  const auto classes = at::tensor({0, 0, 1, 1}, at::kLong).view({2, 2});
  const auto objective = objective_for(Task::kClassification);
  const auto evaluation = objective.evaluate(logits, with_targets(classes, at::tensor({2, 1}, at::kLong)));
  EXPECT_EQ(evaluation.count, 3) << "step 1 of sequence 1 is padding";
  const double expected = (std::log(2.0) + std::log1p(std::exp(-10.0)) + std::log1p(std::exp(-9.0))) / 3;
  EXPECT_NEAR(evaluation.loss.item<double>(), expected, 1e-6);
  EXPECT_EQ(evaluation.metric_sum.item<double>(), 3.0) << "of two equal logits the first class is the answer";
}

TEST(CrossEntropy, MultipliesLossesByTheWeightsOfTheirClasses) {
  auto objective = objective_for(Task::kClassification);
  objective.weight_classes(at::tensor({0.5F, 2.0F}));
  const auto logits = at::tensor({0.0F, std::log(3.0F), 0.0F, std::log(3.0F)}).view({2, 2});
  const auto evaluation = objective.evaluate(logits, with_targets(at::tensor({1, 0}, at::kLong)));
  EXPECT_NEAR(evaluation.loss.item<double>(), (-2 * std::log(0.75) - 0.5 * std::log(0.25)) / 2, 1e-6);
  EXPECT_EQ(evaluation.metric_sum.item<double>(), 1.0);
}

TEST(BalancedClassWeights, GiveEachClassTheSameSum) {
  Samples samples;
  samples.targets = at::tensor({0, 0, 0, 1}, at::kLong);
  EXPECT_TRUE(balanced_class_weights(samples, 2).allclose(at::tensor({4.0F / 6, 2.0F})));
  EXPECT_EQ(balanced_class_weights(samples, 3)[2].item<float>(), 0) << "no target is of this class";
}

TEST(BinaryCrossEntropy, MatchesItsDefinitionOnZeroOneLabels) {
  const auto logits = at::tensor({0.0F, 2.0F, -1.0F}).view({3, 1});
  const auto targets = at::tensor({1.0F, 1.0F, 1.0F}).view({3, 1});
  const auto evaluation = objective_for(Task::kBinary).evaluate(logits, with_targets(targets));
  const double expected = (std::log(2.0) + std::log1p(std::exp(-2.0)) + std::log1p(std::exp(1.0))) / 3;
  EXPECT_NEAR(evaluation.loss.item<double>(), expected, 1e-6);
  EXPECT_EQ(evaluation.metric_sum.item<double>(), 1.0);  // a logit of exactly 0 says 0
}

TEST(BinaryCrossEntropy, TakesRealLabelsAndGoesBelowZero) {
  const auto evaluation = objective_for(Task::kRegression, LossKind::kBinaryCrossEntropy)
                              .evaluate(at::full({1, 1}, 10.0F), with_targets(at::full({1, 1}, 2.5F)));
  EXPECT_NEAR(evaluation.loss.item<double>(), std::log1p(std::exp(10.0)) - 2.5 * 10.0, 1e-4);
}

TEST(MeanSquaredError, MeansOverSamplesAndOutputs) {
  const auto output = at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2});
  const auto targets = at::tensor({1.0F, 0.0F, 3.0F, 7.0F}).view({2, 2});
  const auto objective = objective_for(Task::kRegression);
  const auto evaluation = objective.evaluate(output, with_targets(targets));
  EXPECT_NEAR(evaluation.loss.item<double>(), (4.0 + 9.0) / 4, 1e-6);
  EXPECT_NEAR(evaluation.metric_sum.item<double>(), 5.0, 1e-6);
  EXPECT_EQ(evaluation.count, 4);
}

TEST(Objective, IsComputedInFloat32WhateverTheOutputIs) {
  const auto evaluation =
      objective_for(Task::kRegression).evaluate(at::full({2, 1}, 1.0F, at::kBFloat16), with_targets(at::zeros({2, 1})));
  EXPECT_EQ(evaluation.loss.scalar_type(), at::kFloat);
}

TEST(Metrics, AShortBatchWeighsWhatItHolds) {
  Totals totals;
  add_row({.loss = 1.0, .metric_sum = 3.0, .count = 3}, totals);
  add_row({.loss = 5.0, .metric_sum = 0.0, .count = 1}, totals);
  const auto metrics = objective_for(Task::kClassification).metrics(totals);
  EXPECT_DOUBLE_EQ(metrics.at("loss"), 2.0);
  EXPECT_DOUBLE_EQ(metrics.at("accuracy"), 0.75);
  EXPECT_EQ(metrics.size(), 2u);
}

TEST(Metrics, PerplexityAndBitsBelongToLanguageModels) {
  Totals totals;
  add_row({.loss = std::log(8.0), .count = 10}, totals);
  const auto metrics = objective_for(Task::kLanguageModel).metrics(totals);
  EXPECT_NEAR(metrics.at("perplexity"), 8.0, 1e-12);
  EXPECT_NEAR(metrics.at("bits_per_character"), 3.0, 1e-12);
}

TEST(Metrics, RegressionHasMeanAbsoluteAndRootMeanSquaredError) {
  Totals totals;
  add_row({.loss = 9.0, .weighted_loss = 9.0, .metric_sum = 8.0, .count = 4}, totals);
  const auto metrics = objective_for(Task::kRegression).metrics(totals);
  EXPECT_DOUBLE_EQ(metrics.at("mae"), 2.0);
  EXPECT_DOUBLE_EQ(metrics.at("rmse"), 3.0);
  EXPECT_EQ(metrics.size(), 3u);
}

// Two samples of two targets: scaled errors 1 and -2, then 0 and 3.
MetricValues metrics_of_four_errors(const std::vector<ColumnScale>& scales) {
  const auto objective = objective_for(Task::kRegression, LossKind::kAuto, scales);
  const auto output = at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2});
  const auto targets = at::tensor({0.0F, 4.0F, 3.0F, 1.0F}).view({2, 2});
  Totals totals;
  add_row(to_host(objective.evaluate(output, with_targets(targets))), totals);
  return objective.metrics(totals);
}

TEST(Metrics, UndoTheScalingOfEachTargetAndLeaveTheLossAlone) {
  const auto metrics = metrics_of_four_errors({{"metres", 5.0, 2.0}, {"kelvin", -1.0, 10.0}});
  EXPECT_NEAR(metrics.at("loss"), (1.0 + 4.0 + 0.0 + 9.0) / 4, 1e-6);
  EXPECT_NEAR(metrics.at("mae"), (2.0 + 20.0 + 0.0 + 30.0) / 4, 1e-5);
  EXPECT_NEAR(metrics.at("rmse"), std::sqrt((4.0 + 400.0 + 0.0 + 900.0) / 4), 1e-5);
}

TEST(Metrics, UndoOneScalingForAllTargets) {
  const auto metrics = metrics_of_four_errors({{"a", 0.0, 4.0}, {"b", 9.0, 4.0}});
  EXPECT_NEAR(metrics.at("mae"), 4 * 6.0 / 4, 1e-6);
  EXPECT_NEAR(metrics.at("rmse"), 4 * std::sqrt(14.0 / 4), 1e-6);
}

TEST(Metrics, StayFiniteWhereTheSquaresInOwnUnitsWouldNot) {
  const auto metrics = metrics_of_four_errors({{"tiny", 0.0, 1e-30}, {"huge", 0.0, 1e30}});
  EXPECT_NEAR(metrics.at("rmse") / 1e30, std::sqrt(13.0 / 4), 1e-6);
}

class CrossEntropyOnCuda : public ByOwnKernels {};

at::Tensor classes_for(int64_t num_rows, int64_t num_classes) {
  return at::randint(num_classes, {num_rows}, at::detail::createCPUGenerator(5), at::kLong);
}

TEST_F(CrossEntropyOnCuda, IsLibTorchsLossGradientAndCount) {
  for (const auto& [rows, classes] : std::vector<std::pair<int64_t, int64_t>>{
           {128, 10}, {1, 1}, {9, 32}, {3, 33}, {9000, 65}, {50, 128}, {50, 129}, {130, 1000}}) {
    SCOPED_TRACE(fmt::format("{} x {}", rows, classes));
    const at::Tensor drawn = seeded_randn({rows, classes}) * 3, wanted = classes_for(rows, classes);
    const at::Tensor exact = drawn.to(at::kDouble).requires_grad_();
    const at::Tensor loss = at::cross_entropy_loss(exact, wanted);
    (loss * 0.5).backward();
    const at::Tensor logits = drawn.cuda().requires_grad_();
    const auto result = evaluate_on_gpu(LossKind::kCrossEntropy, logits, wanted.cuda());
    (result.loss * 0.5).backward();
    EXPECT_NEAR(result.loss.item<double>(), loss.item<double>(), 1e-5 * (1 + loss.item<double>()));
    EXPECT_EQ(result.metric_sum.item<double>(), drawn.argmax(-1).eq(wanted).sum().item<double>());
    const at::Tensor difference = logits.grad().cpu().to(at::kDouble) - exact.grad();
    EXPECT_LE(difference.abs().max().item<double>(), 1e-6 / static_cast<double>(rows));
  }
}

TEST_F(CrossEntropyOnCuda, HasTheSameGradientIfNothingScalesIt) {
  const at::Tensor drawn = seeded_randn({128, 10}), wanted = classes_for(128, 10).cuda();
  const auto gradient_for = [&](const at::Tensor& scale) {
    const at::Tensor logits = drawn.cuda().requires_grad_();
    evaluate_on_gpu(LossKind::kCrossEntropy, logits, wanted).loss.backward(scale);
    return logits.grad();
  };
  const at::Tensor& one = unscaled_gradient(wanted.device());
  EXPECT_TRUE(unscaled_gradient(wanted.device()).is_same(one));
  EXPECT_TRUE(gradient_for(one).equal(gradient_for(at::ones_like(one))));
  EXPECT_TRUE(gradient_for(one * 2).equal(gradient_for(one) * 2));
}

Evaluation of_one_row(const std::vector<float>& logits, int64_t wanted) {
  const auto row = at::tensor(logits).view({1, -1}).cuda();
  return evaluate_on_gpu(LossKind::kCrossEntropy, row, at::tensor({wanted}, at::kLong).cuda());
}

TEST_F(CrossEntropyOnCuda, TakesTheFirstOfEqualsForTheAnswer) {
  EXPECT_EQ(of_one_row({1, 4, 4, 4}, 1).metric_sum.item<double>(), 1);
  EXPECT_EQ(of_one_row({1, 4, 4, 4}, 2).metric_sum.item<double>(), 0);
}

TEST_F(CrossEntropyOnCuda, StaysFiniteWhereExponentialsWouldNot) {
  EXPECT_NEAR(of_one_row({1000, 0}, 1).loss.item<double>(), 1000, 1e-3);
  EXPECT_NEAR(of_one_row({1000, 0}, 0).loss.item<double>(), 0, 1e-6);
}

TEST_F(CrossEntropyOnCuda, IsNaNForNaNAndForNoClass) {
  EXPECT_TRUE(std::isnan(of_one_row({0, NAN}, 0).loss.item<double>()));
  EXPECT_TRUE(std::isnan(of_one_row({0, 1}, 2).loss.item<double>()));
  EXPECT_TRUE(std::isnan(of_one_row({0, 1}, -1).loss.item<double>()));
}

// Losses of one output and one target, by LibTorch's operators in the type of the tensors.
struct Reference {
  at::Tensor loss, metric_sum;
};

Reference reference_for(LossKind kind, const at::Tensor& output, const at::Tensor& targets) {
  if (kind == LossKind::kMse) return {at::mse_loss(output, targets), at::l1_loss(output, targets, at::Reduction::Sum)};
  return {at::binary_cross_entropy_with_logits(output, targets), output.gt(0).eq(targets.ge(0.5)).sum()};
}

class ElementLossOnCuda : public ByOwnKernels, public ::testing::WithParamInterface<LossKind> {};

INSTANTIATE_TEST_SUITE_P(Losses, ElementLossOnCuda, ::testing::Values(LossKind::kBinaryCrossEntropy, LossKind::kMse),
                         [](const auto& loss) { return loss.param == LossKind::kMse ? "Mse" : "BinaryCrossEntropy"; });

// Compares loss, metric and gradient with those in float64 on the CPU.
void expect_reference(LossKind kind, const at::Tensor& drawn, const at::Tensor& targets, double factor) {
  const at::Tensor exact = drawn.to(at::kDouble).requires_grad_();
  const Reference reference = reference_for(kind, exact, targets.to(at::kDouble));
  (reference.loss * factor).backward();
  const at::Tensor output = drawn.cuda().requires_grad_();
  const Evaluation result = evaluate_on_gpu(kind, output, targets.cuda());
  (result.loss * factor).backward();
  const double metric = reference.metric_sum.item<double>(), loss = reference.loss.item<double>();
  EXPECT_NEAR(result.loss.item<double>(), loss, 1e-5 * (1 + std::abs(loss)));
  EXPECT_NEAR(result.metric_sum.item<double>(), metric, kind == LossKind::kMse ? 1e-5 * metric : 0.0);
  EXPECT_TRUE(result.weighted_loss.equal(result.loss.detach()));
  EXPECT_FALSE(result.weighted_loss.requires_grad() || result.metric_sum.requires_grad());
  EXPECT_EQ(result.count, drawn.numel());
  const at::Tensor scaled = exact.grad() * static_cast<double>(drawn.numel());
  const at::Tensor difference = output.grad().cpu().to(at::kDouble) * static_cast<double>(drawn.numel()) - scaled;
  EXPECT_EQ(output.grad().sizes(), drawn.sizes());
  EXPECT_LE(difference.abs().div(scaled.abs() + 1).max().item<double>(), 1e-6);
}

// 4096 elements are the most that one kernel takes; 1,048,576 the most that its blocks take without a loop.
TEST_P(ElementLossOnCuda, HasTheLossMetricAndGradientOfFloat64) {
  for (const int64_t size : {1, 31, 255, 256, 257, 4096, 4097, 5000, 100'000, 1'050'000, 2'200'000}) {
    SCOPED_TRACE(fmt::format("{} elements", size));
    const at::Tensor drawn = seeded_randn({size, 1}) * 3, numbers = seeded_randn({size, 1}, 2) * 2;
    for (const double factor : {1.0, 0.25}) expect_reference(GetParam(), drawn, numbers, factor);
    expect_reference(GetParam(), drawn, numbers.gt(0).to(at::kFloat), 1.0);
  }
}

TEST_P(ElementLossOnCuda, TakesTensorsOfAnyOrderOfDimensions) {
  const at::Tensor drawn = seeded_randn({33, 7}), targets = seeded_randn({33, 7}, 2);
  expect_reference(GetParam(), drawn, targets, 1.0);
  expect_reference(GetParam(), drawn.view({11, 3, 7}), targets.view({11, 3, 7}), 1.0);
  expect_reference(GetParam(), drawn.t(), targets.t(), 1.0);
  expect_reference(GetParam(), drawn.t(), targets.view({7, 33}), 1.0);
  expect_reference(GetParam(), drawn.view({7, 33}), targets.t(), 1.0);
}

struct OnGpu {
  at::Tensor loss, metric_sum, gradient;
};

OnGpu on_gpu(LossKind kind, const at::Tensor& drawn, const at::Tensor& targets, const at::Tensor& scale = {}) {
  const at::Tensor output = drawn.cuda().requires_grad_();
  const Evaluation result = evaluate_on_gpu(kind, output, targets.cuda());
  result.loss.backward(scale);
  return {result.loss.detach(), result.metric_sum, output.grad()};
}

TEST_P(ElementLossOnCuda, HasTheSameBitsInEveryRun) {
  for (const int64_t size : {256, 5000, 1'050'000}) {
    SCOPED_TRACE(fmt::format("{} elements", size));
    const at::Tensor drawn = seeded_randn({size}), targets = seeded_randn({size}, 2);
    const OnGpu first = on_gpu(GetParam(), drawn, targets);
    for (int i = 0; i < 5; ++i) {
      const OnGpu again = on_gpu(GetParam(), drawn, targets);
      EXPECT_TRUE(again.loss.equal(first.loss));
      EXPECT_TRUE(again.metric_sum.equal(first.metric_sum));
      EXPECT_TRUE(again.gradient.equal(first.gradient));
    }
  }
}

TEST_P(ElementLossOnCuda, MultipliesItsGradientByThatOfTheLoss) {
  const at::Tensor drawn = seeded_randn({300}), targets = seeded_randn({300}, 2);
  const at::Tensor one = unscaled_gradient(c10::Device(c10::kCUDA, 0));
  const at::Tensor gradient = on_gpu(GetParam(), drawn, targets, one).gradient;
  EXPECT_TRUE(on_gpu(GetParam(), drawn, targets, at::ones_like(one)).gradient.equal(gradient));
  EXPECT_TRUE(on_gpu(GetParam(), drawn, targets, one * 4).gradient.equal(gradient * 4));
}

TEST_P(ElementLossOnCuda, NeedsNoGradient) {
  for (const int64_t size : {300, 5000}) {
    const at::Tensor drawn = seeded_randn({size}), targets = seeded_randn({size}, 2);
    const Evaluation result = evaluate_on_gpu(GetParam(), drawn.cuda(), targets.cuda());
    EXPECT_FALSE(result.loss.requires_grad());
    EXPECT_TRUE(result.loss.equal(on_gpu(GetParam(), drawn, targets).loss));
  }
}

// Returns whether both are NaN, the same infinity, or close.
bool are_close(const at::Tensor& result, const at::Tensor& reference) {
  return result.cpu().to(at::kDouble).allclose(reference, 1e-5, 1e-7, /*equal_nan=*/true);
}

// LibTorch on the CPU in float64 says what a loss of infinite and NaN outputs and targets is.
TEST_P(ElementLossOnCuda, HasLibTorchsValuesForExtremeOutputs) {
  for (const float output : {1e4F, -1e4F, 80.0F, -80.0F, 0.0F, -0.0F, INFINITY, -INFINITY, NAN}) {
    for (const float target : {0.0F, 1.0F, 0.3F, 0.5F, -1.5F, 2.5F, INFINITY, -INFINITY, NAN}) {
      SCOPED_TRACE(fmt::format("output {}, target {}", output, target));
      const at::Tensor drawn = at::full({1}, output), targets = at::full({1}, target);
      const at::Tensor exact = drawn.to(at::kDouble).requires_grad_();
      const Reference reference = reference_for(GetParam(), exact, targets.to(at::kDouble));
      reference.loss.backward();
      const OnGpu result = on_gpu(GetParam(), drawn, targets);
      EXPECT_TRUE(are_close(result.loss, reference.loss.detach()))
          << result.loss.item<double>() << " instead of " << reference.loss.item<double>();
      EXPECT_TRUE(are_close(result.metric_sum, reference.metric_sum.detach().to(at::kDouble)))
          << result.metric_sum.item<double>() << " instead of " << reference.metric_sum.item<double>();
      EXPECT_TRUE(are_close(result.gradient, exact.grad()))
          << result.gradient.item<double>() << " instead of " << exact.grad().item<double>();
    }
  }
}

TEST_P(ElementLossOnCuda, OneNaNAmongManyMakesTheLossNaN) {
  for (const int64_t size : {300, 100'000}) {
    at::Tensor drawn = seeded_randn({size});
    drawn[size - 1] = NAN;
    const OnGpu result = on_gpu(GetParam(), drawn, at::zeros({size}));
    EXPECT_TRUE(std::isnan(result.loss.item<double>()));
    EXPECT_EQ(result.gradient.isnan().sum().item<int64_t>(), 1);
  }
}

TEST_P(ElementLossOnCuda, IsWhatAnObjectiveComputes) {
  const at::Tensor output = seeded_randn({64, 3}).cuda(), targets = seeded_randn({64, 3}, 2).cuda();
  const Evaluation evaluation = objective_for(Task::kRegression, GetParam()).evaluate(output, with_targets(targets));
  const Evaluation expected = evaluate_on_gpu(GetParam(), output, targets);
  EXPECT_TRUE(evaluation.loss.equal(expected.loss));
  EXPECT_TRUE(evaluation.metric_sum.equal(expected.metric_sum));
}

TEST_P(ElementLossOnCuda, LeavesTargetsWithAGradientToLibTorch) {
  const at::Tensor output = seeded_randn({64, 3}).cuda(), targets = seeded_randn({64, 3}, 2).cuda().requires_grad_();
  objective_for(Task::kRegression, GetParam()).evaluate(output, with_targets(targets)).loss.backward();
  EXPECT_TRUE(targets.grad().defined());
}

TEST(OwnKernels, SuitDenseFloat32TensorsOfAGpu) {
  EXPECT_FALSE(can_use_own_kernels(at::zeros({2, 3})));
  EXPECT_FALSE(can_use_own_kernels(std::vector<at::Tensor>{}));
  if (!has_own_kernels_here()) GTEST_SKIP() << "needs own kernels on a GPU";
  const at::Tensor floats = at::zeros({4, 6}).cuda();
  EXPECT_TRUE(can_use_own_kernels(floats));
  EXPECT_TRUE(can_use_own_kernels(floats.t()));
  EXPECT_FALSE(can_use_own_kernels(floats.narrow(1, 0, 3)));
  EXPECT_FALSE(can_use_own_kernels(floats.to(at::kDouble)));
  EXPECT_FALSE(can_use_own_kernels(std::vector<at::Tensor>{floats, at::zeros({2})}));
}

// ---- missing targets: they have no part in losses, gradients and metrics ----

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

Batch batch_of(const at::Tensor& targets, const at::Tensor& counts) {
  Batch batch = with_targets(targets);
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
  expect_same(evaluation, objective.evaluate(known_output, with_targets(known_targets)));
  evaluation.loss.backward();
  return output.grad();
}

TEST(MissingTargets, OfNumbersHaveNeitherLossNorGradient) {
  const at::Tensor targets = at::tensor({1.F, kUnknown, kUnknown, 4.F}).view({2, 2});
  const Batch batch = batch_of(targets, at::tensor({1, 1}, at::kLong));
  const at::Tensor gradient =
      known_gradient(objective_for(Task::kRegression), at::tensor({3.F, 9.F, 9.F, 3.F}).view({2, 2}), batch,
                     at::tensor({3.F, 3.F}).view({1, 2}), at::tensor({1.F, 4.F}).view({1, 2}));
  EXPECT_TRUE(gradient.equal(at::tensor({2.F, 0.F, 0.F, -1.F}).view({2, 2}))) << gradient;
}

// The second target is ten times as large in its own units.
TEST(MissingTargets, OfNumbersHaveTheUnitsOfTheOthers) {
  const Objective objective = objective_for(Task::kRegression, LossKind::kAuto, {{"small", 0, 1}, {"large", 0, 10}});
  const Batch batch = batch_of(at::tensor({0.F, kUnknown, 0.F, 0.F}).view({2, 2}), at::tensor({1, 2}, at::kLong));
  Totals totals;
  const Evaluation evaluation = objective.evaluate(at::tensor({1.F, 5.F, 2.F, 3.F}).view({2, 2}), batch);
  add_row(to_host(evaluation), totals);
  const MetricValues metrics = objective.metrics(totals);
  EXPECT_NEAR(metrics.at("loss"), (1 + 4 + 9) / 3.0, 1e-6);
  EXPECT_NEAR(metrics.at("mae"), (1 + 2 + 30) / 3.0, 1e-5);
  EXPECT_NEAR(metrics.at("rmse"), std::sqrt((1 + 4 + 900) / 3.0), 1e-5);
}

TEST(MissingTargets, OfTwoValuesHaveNeitherLossNorGradient) {
  const Batch batch = batch_of(at::tensor({1.F, kUnknown, 0.F}).view({3, 1}), at::tensor({1, 0, 1}, at::kLong));
  const at::Tensor gradient =
      known_gradient(objective_for(Task::kBinary), at::tensor({0.F, -7.F, 2.F}).view({3, 1}), batch,
                     at::tensor({0.F, 2.F}).view({2, 1}), at::tensor({1.F, 0.F}).view({2, 1}));
  EXPECT_EQ(gradient[1].item<float>(), 0);
  EXPECT_NEAR(gradient[0].item<double>(), -0.25, 1e-6);
}

TEST(MissingTargets, OfClassesHaveNeitherLossNorGradient) {
  const at::Tensor logits = at::tensor({0.F, 1.F, 5.F, -5.F, 2.F, 0.F}).view({3, 2});
  const Batch batch = batch_of(at::tensor({1, -1, 0}, at::kLong), at::tensor({1, 0, 1}, at::kLong));
  const at::Tensor known_logits = at::tensor({0.F, 1.F, 2.F, 0.F}).view({2, 2}), known = at::tensor({1, 0}, at::kLong);
  Objective objective = objective_for(Task::kClassification);
  EXPECT_TRUE(known_gradient(objective, logits.clone(), batch, known_logits, known)[1].equal(at::zeros({2})));
  objective.weight_classes(at::tensor({0.5F, 3.F}));
  EXPECT_TRUE(known_gradient(objective, logits.clone(), batch, known_logits, known)[1].equal(at::zeros({2})));
}

// (T, B) = (2, 2): step 1 of sequence 1 is padding, and step 0 of sequence 0 has no class.
TEST(MissingTargets, OfStepsAreLeftOutLikePadding) {
  Batch batch = batch_of(at::tensor({-1, 1, 0, 0}, at::kLong).view({2, 2}), at::tensor({1, 1}, at::kLong));
  batch.lengths = at::tensor({2, 1}, at::kLong);
  const at::Tensor logits = at::tensor({9.F, 0.F, 0.F, 1.F, 3.F, 0.F, 9.F, 9.F}).view({2, 2, 2});
  const Objective objective = objective_for(Task::kClassification);
  const at::Tensor known_logits = at::tensor({0.F, 1.F, 3.F, 0.F}).view({2, 2});
  expect_same(objective.evaluate(logits, batch),
              objective.evaluate(known_logits, with_targets(at::tensor({1, 0}, at::kLong))));
}

TEST(MissingTargets, HaveNoPartInClassWeights) {
  Samples samples;
  samples.targets = at::tensor({0, 0, -1, 0, 1, -1}, at::kLong);
  EXPECT_TRUE(balanced_class_weights(samples, 2).allclose(at::tensor({4.F / 6, 2.F})));
}

}  // namespace
}  // namespace rnnlab
