// SPDX-License-Identifier: Apache-2.0

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/expect_error.h"
#include "base/statistics.h"
#include "train/loop/objective.h"
#include "train/loop/toy.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

constexpr std::array kAll = {LossKind::kQuantile, LossKind::kGaussian, LossKind::kStudent, LossKind::kPoisson};

FittedData two_targets(std::vector<ColumnScale> scales = {}) {
  FittedData data;
  data.shape.task = Task::kRegression;
  data.shape.num_outputs = 2;
  data.target_scales = std::move(scales);
  return data;
}

Loss loss_of(LossKind kind, std::vector<double> levels = {}, const FittedData& data = two_targets()) {
  TrainingSettings settings = with_loss(kind);
  settings.quantiles = std::move(levels);
  return {settings, data, at::kCPU};
}

std::vector<double> numbers_of(const at::Tensor& values) {
  const at::Tensor all = values.to(at::kDouble).contiguous();
  return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel()};
}

at::Tensor row(const std::vector<double>& values) { return at::tensor(values, at::kDouble).unsqueeze(0); }

// Returns the losses of one target for many values, with the same outputs for all of them.
at::Tensor losses_over(const Loss& loss, const std::vector<double>& outputs, const at::Tensor& targets) {
  const at::Tensor rows = row(outputs).expand({targets.size(0), std::ssize(outputs)});
  return loss.compute(rows, targets.unsqueeze(1), at::Reduction::None).squeeze(1);
}

double softplus(double value) { return std::log1p(std::exp(value)); }

TEST(Distributions, SayHowManyNumbersATargetHas) {
  EXPECT_EQ(numbers_per_target(with_loss(LossKind::kQuantile)), 3);
  EXPECT_EQ(numbers_per_target(with_loss(LossKind::kGaussian)), 2);
  EXPECT_EQ(numbers_per_target(with_loss(LossKind::kStudent)), 3);
  EXPECT_EQ(numbers_per_target(with_loss(LossKind::kPoisson)), 1);
  EXPECT_EQ(numbers_per_target(with_loss(LossKind::kMse)), 1);
  EXPECT_EQ(numbers_per_target(with_loss(LossKind::kAuto)), 1);
}

// A likelihood is a density: its integral over all values is 1.
TEST(Distributions, HaveLossesThatAreLogarithmsOfDensities) {
  const at::Tensor values = at::linspace(-400, 400, 800'001, at::kDouble);
  const double step = 800.0 / 800'000;
  for (const auto& [kind, outputs] :
       {std::pair(LossKind::kGaussian, std::vector{0.3, 0.7}), {LossKind::kStudent, {0.3, -0.4, 1.5}}}) {
    const at::Tensor densities = losses_over(loss_of(kind), outputs, values).neg().exp();
    EXPECT_NEAR(densities.sum().item<double>() * step, 1, 2e-6) << config::name_of(kind);
  }
  const at::Tensor counts = at::arange(200, at::kDouble);
  EXPECT_NEAR(losses_over(loss_of(LossKind::kPoisson), {1.2}, counts).neg().exp().sum().item<double>(), 1, 1e-12);
}

TEST(Distributions, HaveGradientsThatFiniteDifferencesConfirm) {
  const at::Tensor targets = row({0.4, 2.0}), direction = at::randn({1, 6}, at::kDouble);
  for (const LossKind kind : kAll) {
    const Loss loss = loss_of(kind);
    const int64_t width = 2 * loss.numbers_per_target();
    const at::Tensor outputs = at::randn({1, width}, at::kDouble).requires_grad_(),
                     along = direction.narrow(1, 0, width);
    const auto value_at = [&](double step) {
      return loss.compute(outputs.detach() + along * step, targets, at::Reduction::Mean).item<double>();
    };
    loss.compute(outputs, targets, at::Reduction::Mean).backward();
    constexpr double kStep = 1e-6;
    EXPECT_NEAR((outputs.grad() * along).sum().item<double>(), (value_at(kStep) - value_at(-kStep)) / (2 * kStep), 1e-6)
        << config::name_of(kind);
  }
}

TEST(Quantiles, LoseTwiceTheMeanPinballLoss) {
  const Loss loss = loss_of(LossKind::kQuantile, {0.1, 0.5, 0.9});
  const at::Tensor losses = losses_over(loss, {1, 2, 5}, at::tensor({4.0, 0.0}, at::kDouble));
  EXPECT_THAT(numbers_of(losses), ElementsAre(::testing::DoubleNear(2 * (0.1 * 3 + 0.5 * 2 + 0.1 * 1) / 3, 1e-12),
                                              ::testing::DoubleNear(2 * (0.9 * 1 + 0.5 * 2 + 0.1 * 5) / 3, 1e-12)));
}

TEST(Quantiles, ThatCrossAreBroughtIntoOrder) {
  const Loss loss = loss_of(LossKind::kQuantile);
  const at::Tensor outputs = row({5, 1, 3, 0, 1, 2});
  EXPECT_THAT(numbers_of(loss.quantiles(outputs)), ElementsAre(1, 3, 5, 0, 1, 2));
  EXPECT_THAT(numbers_of(loss.point(outputs)), ElementsAre(3, 1)) << "the medians";
}

TEST(Gaussian, HasItsMeanAsPointAndNormalQuantiles) {
  const Loss loss = loss_of(LossKind::kGaussian, {0.025, 0.5, 0.975});
  const at::Tensor outputs = row({1, 0.5, -2, 3});
  const double deviation = softplus(0.5) + 1e-4;
  EXPECT_THAT(numbers_of(loss.point(outputs)), ElementsAre(1, -2));
  const std::vector<double> quantiles = numbers_of(loss.quantiles(outputs));
  EXPECT_NEAR(quantiles[0], 1 - 1.959963984540054 * deviation, 1e-12);
  EXPECT_NEAR(quantiles[1], 1, 1e-12);
  EXPECT_NEAR(quantiles[2], 1 + 1.959963984540054 * deviation, 1e-12);
}

TEST(Student, HasTheQuantilesOfItsDegreesOfFreedom) {
  const std::vector<double> levels = {0.01, 0.25, 0.5, 0.99};
  const Loss loss = loss_of(LossKind::kStudent, levels);
  for (const double number : {-20.0, -1.0, 0.0, 2.0, 40.0, 1e6}) {
    const double degrees = 2 + softplus(std::min(number, 700.0)) + std::max(number - 700.0, 0.0);
    const std::vector<double> quantiles = numbers_of(loss.quantiles(row({0, 1, number, 0, 1, number})));
    for (size_t i = 0; i < levels.size(); ++i) {
      const double expected = student_t_quantile(levels[i], degrees) * (softplus(1) + 1e-4);
      EXPECT_NEAR(quantiles[i], expected, 2e-5 * std::abs(expected) + 1e-12) << degrees << " " << levels[i];
    }
  }
}

double poisson_probability(double count, double rate) {
  return std::exp(count * std::log(rate) - rate - std::lgamma(count + 1));
}

// The smallest count whose distribution reaches the level, by adding probabilities.
double poisson_quantile(double rate, double level) {
  double count = 0;
  for (double sum = poisson_probability(0, rate); sum < level; sum += poisson_probability(count, rate)) ++count;
  return count;
}

TEST(Poisson, HasTheSmallestCountsThatReachALevel) {
  const std::vector<double> levels = {0.001, 0.1, 0.5, 0.9, 0.999};
  const Loss loss = loss_of(LossKind::kPoisson, levels);
  for (const double rate : {1e-3, 0.3, 1.0, 2.5, 17.0, 400.0}) {
    const std::vector<double> quantiles = numbers_of(loss.quantiles(row({std::log(rate), std::log(rate)})));
    for (size_t i = 0; i < levels.size(); ++i)
      EXPECT_EQ(quantiles[i], poisson_quantile(rate, levels[i])) << rate << " " << levels[i];
  }
}

// Whatever the scaling, the loss and the forecasts are those of counts in their own units. Outputs of 0 are the usual
// count: the larger of mean and deviation.
TEST(Poisson, CountsInTheUnitsOfTheTargets) {
  const FittedData data = two_targets({{"small", 3, 2}, {"large", 10, 40}});
  const Loss loss = loss_of(LossKind::kPoisson, {0.1, 0.5, 0.9}, data);
  const at::Tensor outputs = at::zeros({1, 2}), scaled_counts = row({(7 - 3) / 2.0, (25 - 10) / 40.0});
  EXPECT_THAT(numbers_of(in_units_of_targets(loss.point(outputs), data, Samples())),
              ElementsAre(::testing::DoubleNear(3, 1e-5), ::testing::DoubleNear(40, 1e-4)));
  const at::Tensor losses = loss.compute(outputs.to(at::kDouble), scaled_counts, at::Reduction::None);
  EXPECT_NEAR(losses[0][0].item<double>(), -std::log(poisson_probability(7, 3)), 1e-9);
  EXPECT_NEAR(losses[0][1].item<double>(), -std::log(poisson_probability(25, 40)), 1e-9);
  const at::Tensor quantiles = quantiles_in_units(outputs, loss, data, Samples());
  EXPECT_NEAR(quantiles[0][1][2].item<double>(), poisson_quantile(40, 0.9), 1e-4);
}

TEST(Poisson, RefusesNegativeCounts) {
  Samples part;
  part.targets = part.inputs = at::tensor({1.F, NAN, -3.F}).unsqueeze(1);
  testing::expect_error(ExitCode::kData,
                        [&] { require_targets_of(with_loss(LossKind::kPoisson), part, FittedData()); });
  EXPECT_NO_THROW(require_targets_of(with_loss(LossKind::kGaussian), part, FittedData()));
}

// Scaling leaves the zeros of a file of large counts a little below 0.
TEST(Poisson, AcceptsZerosThatScalingHasRounded) {
  const FittedData data = two_targets({{"small", 1, 2}, {"large", 2.5e6, 7.3e5}});
  Samples part;
  part.targets = part.inputs = at::tensor({static_cast<float>(-0.5), static_cast<float>(-2.5e6 / 7.3e5)}).view({1, 2});
  EXPECT_NO_THROW(require_targets_of(with_loss(LossKind::kPoisson), part, data));
}

// Targets that are scaled and scaled back are not exactly the counts of the file, and the interval has them all the
// same.
TEST(Poisson, CoversCountsAtTheEndsOfItsInterval) {
  const FittedData data = two_targets({{"a", 7.31, 2.77}, {"b", 7.31, 2.77}});
  const Loss loss = loss_of(LossKind::kPoisson, {0.1, 0.5, 0.9}, data);
  const at::Tensor quantiles = quantiles_in_units(at::zeros({1, 2}), loss, data, Samples())[0][0];
  for (const int64_t end : {0, 2}) {
    const double count = std::round(quantiles[end].item<double>());
    const at::Tensor target = at::tensor({(count - 7.31) / 2.77, 0.0}, at::kDouble).to(at::kFloat).unsqueeze(0);
    EXPECT_EQ(quantiles[end].item<double>(), in_units_of_targets(target, data, Samples())[0][0].item<double>());
  }
}

TEST(Distributions, HaveQuantilesInTheUnitsOfTheTargetsAndAfterChanges) {
  const FittedData data = two_targets({{"a", 100, 10}, {"b", 0, 1}});
  Samples changes;
  changes.target_bases = row({1000, 0});
  const at::Tensor quantiles =
      quantiles_in_units(row({-1, 0, 1, 4, 5, 6}), loss_of(LossKind::kQuantile, {}, data), data, changes);
  EXPECT_THAT(numbers_of(quantiles), ElementsAre(1090, 1100, 1110, 4, 5, 6));
  EXPECT_FALSE(quantiles_in_units(row({0, 0}), loss_of(LossKind::kMse), data, changes).defined());
}

// The errors, which RMSE and MAE are of, are those of the points. A missing target has no loss and no gradient.
TEST(Distributions, AreEvaluatedByTheirPointsWithoutMissingTargets) {
  Batch batch;
  batch.targets = at::tensor({1.0F, NAN, 3.0F, 4.0F}).view({2, 2});
  batch.target_counts = at::tensor({1, 2}, at::kLong);
  for (const LossKind kind : kAll) {
    TrainingSettings settings = with_loss(kind);
    const int64_t width = 2 * numbers_per_target(settings);
    const at::Tensor output = at::zeros({2, width}).requires_grad_();
    const Evaluation result = Objective(settings, two_targets(), at::kCPU).evaluate(output, batch);
    const double point = kind == LossKind::kPoisson ? 1 : 0;  // the rate is exp(0)
    EXPECT_EQ(result.count, 3) << config::name_of(kind);
    EXPECT_NEAR(result.metric_sum.item<double>(), 8 - 3 * point, 1e-5) << config::name_of(kind);
    result.loss.backward();
    EXPECT_EQ(output.grad().slice(1, width / 2)[0].abs().sum().item<double>(), 0) << config::name_of(kind);
    EXPECT_TRUE(std::isfinite(output.grad().sum().item<double>())) << config::name_of(kind);
  }
}

TEST(Distributions, TrainModelsWhoseIntervalsHoldTheTargets) {
  Dataset dataset = toy_dataset(2048, 512, Task::kRegression);
  const at::Tensor means = dataset.train.inputs.mean({1, 2}).unsqueeze(1);
  const at::Tensor valid_means = dataset.valid.inputs.mean({1, 2}).unsqueeze(1);
  dataset.train.targets = means * 4 + at::randn({2048, 1});
  dataset.valid.targets = valid_means * 4 + at::randn({512, 1});
  for (const LossKind kind : {LossKind::kQuantile, LossKind::kGaussian, LossKind::kStudent}) {
    TrainerOptions options = toy_options();
    options.settings.loss = kind;
    options.settings.metrics = {"coverage", "width", "crps"};
    options.settings.epochs = 8;
    options.settings.learning_rate = 1e-2;
    dataset.shape.numbers_per_target = numbers_per_target(options.settings);
    const EpochRow row = run_toy(dataset, options).seen.rows.back();
    EXPECT_NEAR(row.metrics.at("valid_coverage"), 0.8, 0.07) << config::name_of(kind);
    EXPECT_NEAR(row.metrics.at("valid_width"), 2 * 1.2816, 0.5) << config::name_of(kind);
    EXPECT_NEAR(row.metrics.at("valid_crps"), 0.5, 0.05) << config::name_of(kind) << ": of a normal distribution";
  }
}

}  // namespace
}  // namespace rnnlab
