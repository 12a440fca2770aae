// SPDX-License-Identifier: Apache-2.0
#include "train/loop/stopping.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/expect_error.h"
#include "golden.h"
#include "results/quality.h"
#include "train/loop/toy.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

TrainingSettings watching(const std::string& metric, int64_t patience, double min_delta = 0.0) {
  TrainingSettings settings;
  settings.early_stopping = metric;
  settings.patience = patience;
  settings.min_delta = min_delta;
  return settings;
}

// Each value is that of one epoch, until early stopping ends the run.
TrainingState after(const TrainingSettings& settings, const std::vector<double>& values) {
  const EarlyStopping early_stopping(settings);
  TrainingState state;
  EpochRow row;
  for (const double value : values) {
    ++row.epoch;
    row.train_loss = row.valid_loss.emplace(value);
    row.metrics["train_accuracy"] = row.metrics["valid_accuracy"] = value;
    state.epoch = row.epoch;
    early_stopping.update_best(row, state);
    early_stopping.stop_if_patience_is_over(state);
    if (state.stopped()) break;
  }
  return state;
}

TEST(EarlyStopping, StopsAfterPatienceEpochsWithoutABetterLoss) {
  const auto state = after(watching("valid_loss", 2), {0.9, 0.5, 0.6, 0.5, 0.1});
  EXPECT_EQ(state.epoch, 4);
  EXPECT_EQ(state.best_epoch, 2);
  EXPECT_EQ(state.stop_reason, StopReason::kEarlyStopping);
  expect_golden(state.stop_text);
}

// Returns the epochs at which a plateau ended, for the validation loss of each epoch.
std::vector<int64_t> plateaus(const Schedule& schedule, const std::vector<double>& losses) {
  const EarlyStopping best({});
  TrainingState state;
  std::vector<int64_t> ends;
  for (const double loss : losses) {
    best.update_best({.epoch = ++state.epoch, .train_loss = 1.0, .valid_loss = loss}, state);
    count_plateaus(schedule, state);
    if (std::ssize(ends) < state.num_plateaus.value_or(0)) ends.push_back(*state.plateau_epoch);
  }
  return ends;
}

TEST(Plateaus, AreEpochsWithoutABetterOne) {
  const Schedule schedule{.kind = ScheduleKind::kPlateau, .decay_patience = 2};
  EXPECT_THAT(plateaus(schedule, {5, 4, 3, 2, 1}), ::testing::IsEmpty());
  EXPECT_THAT(plateaus(schedule, {5, 4, 4, 4, 3, 3}), ::testing::ElementsAre(4));
  EXPECT_THAT(plateaus(schedule, {5, 5, 5, 5, 5, 5, 5}), ::testing::ElementsAre(3, 5, 7))
      << "each has its own patience";
}

TEST(Plateaus, AreOfNoInterestToOtherSchedules) {
  EXPECT_THAT(plateaus({.kind = ScheduleKind::kStep, .decay_patience = 2}, {5, 5, 5, 5}), ::testing::IsEmpty());
}

TEST(EarlyStopping, AnAccuracyImprovesUpwards) {
  expect_golden(after(watching("train_accuracy", 1), {0.5, 0.7, 0.6}).stop_text);
}

TEST(EarlyStopping, WatchesTheErrorsOfARegression) {
  const EarlyStopping early_stopping(watching("valid_rmse", 1));
  TrainingState state;
  for (const double rmse : {3.0, 2.5, 2.7}) {
    early_stopping.update_best({.epoch = ++state.epoch, .valid_loss = 1 / rmse, .metrics = {{"valid_rmse", rmse}}},
                               state);
    early_stopping.stop_if_patience_is_over(state);
  }
  expect_golden(state.stop_text);
}

// Returns the best value of two epochs, of which the first is the better one by `metric` alone.
double best_of_two(const std::string& metric, const EpochRow& better, const EpochRow& worse) {
  TrainingState state;
  const EarlyStopping early_stopping(watching(metric, 1));
  for (const EpochRow& row : {worse, better}) early_stopping.update_best(row, state);
  EXPECT_EQ(state.best_epoch, better.epoch) << metric;
  return state.best_value.value();
}

TEST(EarlyStopping, WatchesEveryMetric) {
  EpochRow better, worse;
  better.epoch = 2;
  worse.epoch = 1;
  better.train_loss = worse.train_loss = 1;
  better.valid_loss = 2;
  worse.valid_loss = 1;
  for (const std::string& metric : metric_columns()) {
    const bool is_larger = is_larger_better(metric);
    better.metrics[metric] = is_larger ? 4 : 3;
    worse.metrics[metric] = is_larger ? 3 : 4;
    if (metric.ends_with("_loss")) continue;
    EXPECT_EQ(best_of_two(metric, better, worse), better.metrics[metric]) << metric;
  }
}

// Each name is that of a column of epochs.csv.
TEST(EarlyStopping, NamesMetricsAsTheLogDoes) {
  for (const std::string& name : metric_columns()) EXPECT_NE(find_column(name), nullptr) << name;
}

TEST(StopTarget, IsTheFirstEpochThatReachesIt) {
  TrainingSettings settings;
  settings.stop_at.values["valid_accuracy"] = 0.9;
  const StopTarget target(settings);
  TrainingState state;
  EpochRow row;
  for (const double accuracy : {0.5, 0.92, 0.95}) {
    ++row.epoch;
    row.metrics["valid_accuracy"] = accuracy;
    target.update(row, state);
    target.stop_if_reached(state);
    EXPECT_EQ(state.stopped(), row.epoch >= 2);
  }
  EXPECT_EQ(state.stop_reason, StopReason::kTarget);
  expect_golden(state.stop_text);
}

TEST(EarlyStopping, SmallImprovementsDoNotCount) {
  EXPECT_FALSE(after(watching("valid_loss", 2, 0.1), {1.0, 0.8, 0.6, 0.4}).stopped());
  EXPECT_TRUE(after(watching("valid_loss", 2, 0.1), {1.0, 0.95, 0.92, 0.4}).stopped());
}

TEST(EarlyStopping, AnImprovementRestartsThePatience) {
  EXPECT_FALSE(after(watching("train_loss", 2), {0.9, 1.0, 0.8, 1.0, 0.7, 1.0}).stopped());
}

TEST(EarlyStopping, WithoutItTheBestLossIsRememberedAndNothingStops) {
  const auto state = after(TrainingSettings(), {0.9, 0.5, 0.6, 0.7, 0.8, 0.9});
  EXPECT_FALSE(state.stopped());
  EXPECT_EQ(state.best_epoch, 2);
  EXPECT_EQ(state.best_value, 0.5);
}

TEST(EarlyStopping, PassesOverAnEpochThatLacksTheMetric) {
  const EarlyStopping early_stopping(watching("valid_loss", 1));
  TrainingState state;
  EpochRow row;
  row.epoch = 1;
  early_stopping.update_best(row, state);
  EXPECT_FALSE(state.best_value.has_value());
}

TEST(TrainingState, KeepsItsFirstStopReason) {
  TrainingState state;
  state.stop(StopReason::kSignal, "first", ExitCode::kInterrupted);
  state.stop(StopReason::kEpochs, "second");
  EXPECT_EQ(state.stop_reason, StopReason::kSignal);
  EXPECT_EQ(state.stop_text, "first");
  EXPECT_EQ(state.exit_code, ExitCode::kInterrupted);
}

struct Accident {
  std::string message;
  std::string weights;  // SHA-256 of the weights after the error
};

// An epoch has three steps, in the order of the samples.
TrainerOptions plain_options() {
  auto options = toy_options();
  options.settings.shuffle = false;
  return options;
}

Accident accident_of(Model& model, const Dataset& dataset, Recorder& recorder) {
  Trainer trainer(model, dataset, plain_options());
  trainer.add_observer(recorder);
  const std::string message = testing::message_of_error(ExitCode::kDiverged, [&] { trainer.run(); });
  return {message, weights_sha256(model)};
}

Accident accident_with(const Dataset& dataset) {
  Recorder recorder;
  return accident_of(*toy_model(dataset), dataset, recorder);
}

std::string weights_after(int64_t steps) {
  auto options = plain_options();
  options.settings.max_steps = steps;
  return run_toy(toy_dataset(), options).weights;
}

TEST(Divergence, BlamesABadInputAndItsSample) {
  auto dataset = toy_dataset();
  dataset.train.inputs[40][2][1] = NAN;
  const auto accident = accident_with(dataset);
  expect_golden(accident.message);
  EXPECT_EQ(accident.weights, weights_after(1));
}

TEST(Divergence, BlamesABadTarget) {
  auto dataset = toy_dataset(96, 32, Task::kRegression);
  dataset.train.targets[3][0] = INFINITY;
  expect_golden(accident_with(dataset).message);
}

TEST(Divergence, NamesALossThatOverflows) {
  auto dataset = toy_dataset(96, 32, Task::kRegression);
  dataset.train.targets[40][0] = 1e30;  // its square is more than float32 holds
  EXPECT_THAT(accident_with(dataset).message, ::testing::HasSubstr("the loss is inf ("));
}

TEST(Divergence, NamesTheGradientAndTheLossBeforeAndKeepsTheLastGoodWeights) {
  const auto dataset = toy_dataset();
  const auto model = toy_model(dataset);
  int backward_passes = 0;
  model->named_parameters()["recurrent.weight_hh_l0"].register_hook(
      [&](const at::Tensor& gradient) { return ++backward_passes == 5 ? gradient * NAN : gradient; });
  Recorder recorder;
  const auto accident = accident_of(*model, dataset, recorder);
  expect_golden(accident.message);
  EXPECT_EQ(accident.weights, weights_after(4));
}

TEST(Divergence, CountsTheOtherGradients) {
  const auto dataset = toy_dataset();
  for (const int others : {1, 2}) {
    const auto model = toy_model(dataset);
    const auto parameters = model->parameters();
    for (int i = 0; i <= others; ++i)
      parameters[static_cast<size_t>(i)].register_hook([](const at::Tensor& gradient) { return gradient * NAN; });
    Recorder recorder;
    expect_golden(accident_of(*model, dataset, recorder).message);
  }
}

TEST(Divergence, NamesAWeightThatTheLastUpdateSpoiled) {
  const auto dataset = toy_dataset();
  const auto model = toy_model(dataset);
  Recorder recorder;
  recorder.at_step = [&](const StepProgress& progress) {
    const at::NoGradGuard no_grad;
    if (progress.step == 2) model->named_parameters()["output.bias"].fill_(INFINITY);
  };
  expect_golden(accident_of(*model, dataset, recorder).message);
}

TEST(Divergence, BlamesTheValidationData) {
  auto dataset = toy_dataset();
  dataset.valid.inputs[5][0][0] = INFINITY;
  dataset.valid.inputs[5][0][1] = -INFINITY;
  dataset.valid.inputs[5][0][2] = NAN;
  expect_golden(accident_with(dataset).message);
}

TEST(Divergence, KnowsTheLossOfOutputsThatAreZero) {
  Dataset dataset = toy_dataset();
  const auto of_zeros = [&dataset](LossKind loss) {
    return loss_of_zero_outputs(Loss(with_loss(loss), dataset, at::kCPU), dataset);
  };
  EXPECT_DOUBLE_EQ(of_zeros(LossKind::kCrossEntropy), std::log(static_cast<double>(dataset.shape.num_outputs)));
  dataset.shape.task = Task::kRegression;
  dataset.train.targets = at::tensor({3.f, -1.f, 0.f, 2.f}).view({2, 2});
  EXPECT_DOUBLE_EQ(of_zeros(LossKind::kMse), (9 + 1 + 4) / 4.0);
  EXPECT_DOUBLE_EQ(of_zeros(LossKind::kMae), (3 + 1 + 2) / 4.0);
  EXPECT_NEAR(of_zeros(LossKind::kQuantile), (3 + 1 + 2) / 4.0, 1e-6) << "all quantiles are 0";
  dataset.train.targets = at::tensor({3.f, NAN, NAN, 2.f}).view({2, 2});
  EXPECT_DOUBLE_EQ(of_zeros(LossKind::kMse), (9 + 4) / 2.0) << "missing targets do not count";
  dataset.train.targets = at::tensor({0.f, 1.f, 1.f, 0.f}).view({2, 2});
  EXPECT_FLOAT_EQ(static_cast<float>(of_zeros(LossKind::kBinaryCrossEntropy)), std::log(2.0F));
}

TEST(Divergence, WarnsOfALossThatIsFiniteButAbsurd) {
  expect_golden(high_loss_warning(7.6e30, 2.302585));
  EXPECT_EQ(high_loss_warning(10.0, 1.0), std::nullopt);
  EXPECT_EQ(high_loss_warning(-3.0, std::log(2.0)), std::nullopt);
  EXPECT_EQ(high_loss_warning(1.0, 0.0), std::nullopt) << "all targets are 0";
}

TEST(Divergence, WarnsOfALossThatGrows) {
  expect_golden(grown_loss_warning(0.5, 1.6));
  EXPECT_EQ(grown_loss_warning(0.5, 1.5), std::nullopt);
  EXPECT_EQ(grown_loss_warning(-0.5, 1.5), std::nullopt) << "a loss without a lower bound";
}

}  // namespace
}  // namespace rnnlab
