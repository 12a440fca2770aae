// SPDX-License-Identifier: Apache-2.0
#include "train/loop/trainer.h"

#include <ATen/ops/allclose.h>
#include <gmock/gmock.h>

#include <csignal>
#include <limits>

#include "golden.h"
#include "train/loop/objective.h"
#include "train/loop/stop_signal.h"
#include "train/loop/toy.h"
#include "train/models/model.h"
#include "train/models/sequence_model.h"

namespace rnnlab {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::Pointwise;
using ::testing::UnorderedElementsAre;

TEST(Trainer, LearnsAToy) {
  auto options = toy_options();
  options.settings.epochs = 15;
  const auto run = run_toy(toy_dataset(256, 64), options);
  EXPECT_GT(run.seen.rows.front().train_loss, 0.6);
  EXPECT_LT(run.seen.rows.back().train_loss, 0.25);
  EXPECT_GT(run.seen.rows.back().metrics.at("valid_accuracy"), 0.85);
}

TEST(Trainer, FollowsItsGoldenCurve) {
  auto options = toy_options();
  options.settings.epochs = 4;
  const auto run = run_toy(toy_dataset(), options);
  std::vector<double> losses;
  for (const auto& row : run.seen.rows) losses.push_back(row.train_loss);
  EXPECT_THAT(losses, Pointwise(DoubleNear(1e-4), {0.710437, 0.693815, 0.679550, 0.659902}));
}

TEST(Trainer, TellsItsObserversInOrder) {
  const auto run = run_toy(toy_dataset(64), toy_options());
  EXPECT_THAT(run.seen.calls, ElementsAre("run", "epoch 1", "step 1", "step 2", "row 1", "epoch 2", "step 3", "step 4",
                                          "row 2", "end"));
  expect_golden(run.state.stop_text);
}

TEST(Trainer, AnEpochsLossWeighsAShortBatchByItsSize) {
  const auto run = run_toy(toy_dataset(100), toy_options());  // 32, 32, 32, 4
  const auto& losses = run.seen.losses;
  EXPECT_NEAR(run.seen.rows[0].train_loss, (32 * (losses[0] + losses[1] + losses[2]) + 4 * losses[3]) / 100, 1e-6);
}

TEST(Trainer, FillsTheRowOfAClassifier) {
  auto options = toy_options();
  options.settings.schedule = ScheduleKind::kInverseTime;
  options.settings.decay_rate = 1.0;
  const auto row = run_toy(toy_dataset(), options).seen.rows[1];
  EXPECT_EQ(row.epoch, 2);
  EXPECT_TRUE(row.valid_loss && row.valid_seconds);
  EXPECT_THAT(row.metrics, UnorderedElementsAre(Key("train_accuracy"), Key("valid_accuracy")));
  EXPECT_DOUBLE_EQ(row.learning_rate, 0.01 / 6);  // three steps an epoch: the last is step 5
  EXPECT_GT(*row.gradient_norm, 0.0);
  EXPECT_GT(row.train_seconds, 0.0);
  EXPECT_LE(row.data_seconds, row.train_seconds);
  EXPECT_NEAR(row.samples_per_second, 96 / row.train_seconds, 1e-6 * row.samples_per_second);
  EXPECT_TRUE(!row.peak_memory_bytes || *row.peak_memory_bytes > 1 << 20) << "absent if the system cannot reset it";
}

TEST(Trainer, HasWitnessesOfAnEpoch) {
  const auto row = run_toy(toy_dataset(), toy_options()).seen.rows[1];
  EXPECT_GT(row.cpu_seconds.value(), 0.0);
  EXPECT_GE(row.boot_seconds.value(), row.train_seconds) << "it is read around the timed span";
  EXPECT_TRUE(row.voluntary_switches && row.forced_switches);
  EXPECT_FALSE(row.gpu_joules) << "the CPU computed, so there is no energy of a GPU";
}

TEST(Trainer, FillsTheRowOfARegressor) {
  const auto row = run_toy(toy_dataset(64, 32, Task::kRegression), toy_options()).seen.rows[0];
  EXPECT_THAT(row.metrics,
              UnorderedElementsAre(Key("train_mae"), Key("train_rmse"), Key("valid_mae"), Key("valid_rmse")));
}

TEST(Trainer, ReportsErrorsInTheTargetsOwnUnitsAndTheLossAsTrained) {
  auto dataset = toy_dataset(64, 32, Task::kRegression);
  const auto scaled = run_toy(dataset, toy_options()).seen.rows[0];
  dataset.target_scales = {{.name = "y", .offset = 7.0, .scale = 100.0}};
  const auto own = run_toy(dataset, toy_options()).seen.rows[0];
  EXPECT_EQ(own.train_loss, scaled.train_loss);
  EXPECT_EQ(own.valid_loss, scaled.valid_loss);
  EXPECT_DOUBLE_EQ(own.metrics.at("train_mae"), 100 * scaled.metrics.at("train_mae"));
  EXPECT_DOUBLE_EQ(own.metrics.at("valid_mae"), 100 * scaled.metrics.at("valid_mae"));
  EXPECT_DOUBLE_EQ(own.metrics.at("train_rmse"), 100 * scaled.metrics.at("train_rmse"));
  EXPECT_DOUBLE_EQ(own.metrics.at("valid_rmse"), 100 * scaled.metrics.at("valid_rmse"));
}

TEST(Trainer, MarksWarmUpEpochs) {
  auto options = toy_options();
  options.settings.epochs = 3;
  options.settings.warmup_epochs = 2;
  const auto run = run_toy(toy_dataset(64), options);
  EXPECT_TRUE(run.seen.rows[0].warmup && run.seen.rows[1].warmup);
  EXPECT_FALSE(run.seen.rows[2].warmup);
}

TEST(Trainer, WithoutValidationDataItLeavesThoseColumnsOut) {
  const auto row = run_toy(toy_dataset(64, 0), toy_options()).seen.rows[0];
  EXPECT_FALSE(row.valid_loss || row.metrics.contains("valid_accuracy") || row.valid_seconds);
}

TEST(Trainer, ValidationDoesNotDependOnItsBatchSize) {
  auto options = toy_options();
  const auto whole = run_toy(toy_dataset(), options);
  options.settings.valid_batch_size = 7;
  const auto pieces = run_toy(toy_dataset(), options);
  EXPECT_NEAR(*whole.seen.rows[1].valid_loss, *pieces.seen.rows[1].valid_loss, 1e-6);
  EXPECT_EQ(whole.weights, pieces.weights);
}

TEST(Trainer, DropLastLeavesTheTailOut) {
  auto options = toy_options();
  options.settings.drop_last = true;
  const auto run = run_toy(toy_dataset(100), options);
  EXPECT_EQ(run.state.step, 6);
}

// Returns the weights after two epochs over 90 samples, in batches of `batch_size`; `accumulate` batches make a step.
std::vector<at::Tensor> accumulated_weights(int64_t batch_size, int64_t accumulate) {
  const auto dataset = toy_dataset(90);
  const auto model = toy_model(dataset);
  auto options = toy_options();
  options.settings.batch_size = batch_size;
  options.settings.accumulate = accumulate;
  options.settings.optimizer = OptimizerKind::kSgd;
  options.settings.learning_rate = 1.0;
  Trainer(*model, dataset, options).run();
  return model->parameters();
}

TEST(Trainer, AccumulatedBatchesEqualOneBigBatch) {
  const auto whole = accumulated_weights(32, 1);    // 32, 32, 26
  const auto quarters = accumulated_weights(8, 4);  // the last step is 8, 8, 8, 2
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(at::allclose(whole[i], quarters[i], 1e-4, 1e-6)) << i;
}

TEST(Trainer, AccumulationLeavesTheReportedLossAlone) {
  auto options = toy_options();
  const auto whole = run_toy(toy_dataset(90), options);
  options.settings.batch_size = 8;
  options.settings.accumulate = 4;
  const auto quarters = run_toy(toy_dataset(90), options);
  EXPECT_NEAR(whole.seen.rows[0].train_loss, quarters.seen.rows[0].train_loss, 1e-5);
  EXPECT_EQ(whole.seen.rows[0].metrics.at("train_accuracy"), quarters.seen.rows[0].metrics.at("train_accuracy"));
}

TEST(Trainer, ClippingBoundsTheUpdateAndNotTheReportedNorm) {
  auto options = toy_options();
  options.settings.epochs = 1;
  options.settings.max_steps = 1;
  options.settings.optimizer = OptimizerKind::kSgd;
  options.settings.learning_rate = 1.0;
  const auto free = run_toy(toy_dataset(), options);
  options.settings.clip_norm = 1e-9;
  const auto clipped = run_toy(toy_dataset(), options);
  EXPECT_NEAR(*free.seen.rows[0].gradient_norm, *clipped.seen.rows[0].gradient_norm, 1e-9);
  const auto dataset = toy_dataset();
  const auto before = toy_model(dataset)->parameters();
  const auto model = toy_model(dataset);
  Trainer(*model, dataset, options).run();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::allclose(before[i], model->parameters()[i], 0, 2e-9));
}

TEST(Trainer, MaxStepsEndsWithinAnEpochWhoseTimeIsNotCounted) {
  auto options = toy_options();
  options.settings.epochs = 0;
  options.settings.max_steps = 4;
  options.settings.warmup_epochs = 0;
  const auto run = run_toy(toy_dataset(), options);
  EXPECT_EQ(run.state.step, 4);
  expect_golden(run.state.stop_text);
  EXPECT_FALSE(run.seen.rows[0].warmup);
  EXPECT_TRUE(run.seen.rows[1].warmup);
  EXPECT_TRUE(run.seen.rows[1].valid_loss.has_value());
}

TEST(Trainer, MaxSecondsEndsAfterTheStepUnderWay) {
  auto options = toy_options();
  options.settings.max_seconds = 1e-9;
  const auto run = run_toy(toy_dataset(), options);
  EXPECT_EQ(run.state.step, 1);
  EXPECT_EQ(run.state.stop_reason, StopReason::kSeconds);
  expect_golden(run.state.stop_text);
}

TEST(Trainer, StopsEarlyAndSaysWhy) {
  auto options = toy_options();
  options.settings.epochs = 9;
  options.settings.early_stopping = "valid_loss";
  options.settings.patience = 2;
  options.settings.min_delta = 10.0;
  const auto run = run_toy(toy_dataset(), options);
  EXPECT_EQ(run.state.epoch, 3);
  EXPECT_EQ(run.state.stop_reason, StopReason::kEarlyStopping);
}

TEST(Trainer, EndsWhereATargetIsReachedAlsoInTheLastEpoch) {
  auto options = toy_options();
  options.settings.stop_at.values["valid_loss"] = 100;
  for (const int64_t epochs : {9, 1}) {
    options.settings.epochs = epochs;
    const auto run = run_toy(toy_dataset(), options);
    EXPECT_EQ(run.state.epoch, 1);
    EXPECT_EQ(run.state.stop_reason, StopReason::kTarget);
    expect_golden(run.state.stop_text);
  }
}

// Trains `model` with `recorder` as the observer; a signal may stop the run.
TrainingState run_stoppable(Model& model, Recorder& recorder) {
  const StopSignalGuard guard;
  const auto dataset = toy_dataset();
  Trainer trainer(model, dataset, toy_options());
  trainer.add_observer(recorder);
  return trainer.run();
}

// Returns the run that gets `signal_number` during its second step.
ToyRun run_with_signal(int signal_number) {
  ToyRun run;
  run.seen.at_step = [signal_number](const StepProgress& progress) {
    if (progress.step == 2) std::raise(signal_number);
  };
  run.state = run_stoppable(*toy_model(toy_dataset()), run.seen);
  return run;
}

TEST(Trainer, EndsAfterTheCurrentStepOnSigintWithItsResults) {
  const auto run = run_with_signal(SIGINT);
  EXPECT_THAT(run.seen.calls, ElementsAre("run", "epoch 1", "step 1", "step 2", "row 1", "end"));
  EXPECT_EQ(run.state.stop_text, "interrupted (SIGINT)");
  EXPECT_EQ(run.state.exit_code, ExitCode::kInterrupted);
  EXPECT_FALSE(run.seen.rows[0].valid_loss.has_value());
}

TEST(Trainer, EndsAfterTheCurrentStepOnSigterm) {
  EXPECT_EQ(run_with_signal(SIGTERM).state.exit_code, ExitCode::kTerminated);
}

TEST(Trainer, BeginsNoEpochAfterASignalBetweenTwo) {
  Recorder seen;
  seen.at_row = [](const EpochRow&) { std::raise(SIGINT); };
  const auto state = run_stoppable(*toy_model(toy_dataset(64)), seen);
  EXPECT_THAT(seen.calls, ElementsAre("run", "epoch 1", "step 1", "step 2", "step 3", "row 1", "end"));
  EXPECT_EQ(state.stop_text, "interrupted (SIGINT)");
}

// Raises a signal when it is first evaluated.
class SignallingModel : public SequenceModel {
 public:
  using SequenceModel::SequenceModel;
  at::Tensor forward(const Batch& batch) override {
    if (!is_training()) std::raise(SIGTERM);
    return SequenceModel::forward(batch);
  }
};

TEST(Trainer, BeginsNoEpochAfterASignalInValidationAndKeepsItsResult) {
  Recorder seen;
  ModelSettings settings;
  settings.hidden_size = 8;
  SignallingModel model(settings, LayerKind::kNaive, toy_dataset().shape);
  initialize(model, Initialization::kPyTorch, 1);
  const auto state = run_stoppable(model, seen);
  EXPECT_EQ(state.epoch, 1);
  EXPECT_EQ(state.stop_reason, StopReason::kSignal);
  EXPECT_TRUE(seen.rows.at(0).valid_loss.has_value());
}

TEST(Trainer, TellsWhereTheTrainingSamplesLie) {
  const auto dataset = toy_dataset();
  const auto model = toy_model(dataset);
  auto options = toy_options();
  EXPECT_EQ(Trainer(*model, dataset, options).placement(), Placement::kDevice);
  options.placement = Placement::kHost;
  EXPECT_EQ(Trainer(*model, dataset, options).placement(), Placement::kHost);
}

TEST(Trainer, RefusesMoreStepsThanCanBeCounted) {
  const auto dataset = toy_dataset();
  const auto model = toy_model(dataset);
  auto options = toy_options();
  options.settings.epochs = std::numeric_limits<int64_t>::max() / 2;
  try {
    const Trainer trainer(*model, dataset, options);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    expect_golden(error.what());
  }
}

TEST(Evaluate, LeavesTheModelInItsModeAndDropsNothing) {
  const auto dataset = toy_dataset();
  const auto model = toy_model(dataset, LayerKind::kNaive, /*output_dropout=*/0.5);
  BatchOptions options;
  options.batch_size = 10;
  Batches batches(dataset.valid, options, at::Device(at::kCPU));
  const Objective objective(LossKind::kAuto, dataset, at::Device(at::kCPU));
  BatchLoop loop(batches, 1, evaluation_work(*model, objective, Precision::kFp32), Replay::kNever);
  model->train();
  const auto first = evaluate(*model, batches, loop, at::Device(at::kCPU));
  const auto second = evaluate(*model, batches, loop, at::Device(at::kCPU));
  EXPECT_TRUE(model->is_training());
  EXPECT_EQ(first.count, 32);
  EXPECT_DOUBLE_EQ(first.loss_sum, second.loss_sum);
}

}  // namespace
}  // namespace rnnlab
