// SPDX-License-Identifier: Apache-2.0
#include "train/loop/trainer.h"

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
#include <csignal>
#include <limits>

#include "base/expect_error.h"
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

std::vector<at::Tensor> trained_weights(const Dataset& dataset, const TrainerOptions& options) {
  const auto model = toy_model(dataset);
  Trainer(*model, dataset, options).run();
  return model->parameters();
}

void expect_close(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::allclose(actual[i], expected[i], 1e-4, 1e-6)) << i;
}

// Returns the weights after two epochs over 90 samples, in batches of `batch_size`; `accumulate` batches make a step.
std::vector<at::Tensor> accumulated_weights(int64_t batch_size, int64_t accumulate) {
  auto options = toy_options();
  options.settings.batch_size = batch_size;
  options.settings.accumulate = accumulate;
  options.settings.optimizer = OptimizerKind::kSgd;
  options.settings.learning_rate = 1.0;
  return trained_weights(toy_dataset(90), options);
}

TEST(Trainer, AccumulatedBatchesEqualOneBigBatch) {
  const auto whole = accumulated_weights(32, 1);    // 32, 32, 26
  const auto quarters = accumulated_weights(8, 4);  // the last step is 8, 8, 8, 2
  expect_close(quarters, whole);
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
  testing::expect_error(ExitCode::kUsage, [&] { const Trainer trainer(*model, dataset, options); });
}

// ---- missing targets and targets of steps ----

// A mean of the means of parts would weigh a target among few, or a short sequence, like one among many.
void expect_the_same_however_cut(const Dataset& dataset, double learning_rate, const std::vector<int64_t>& shards) {
  auto options = toy_options();
  options.settings.optimizer = OptimizerKind::kSgd;
  options.settings.learning_rate = learning_rate;
  options.settings.batch_size = 30;
  const auto whole = trained_weights(dataset, options);
  auto accumulated = options;
  accumulated.settings.batch_size = 10;
  accumulated.settings.accumulate = 3;
  expect_close(trained_weights(dataset, accumulated), whole);
  for (const int64_t number : shards) {
    options.settings.shards = number;
    expect_close(trained_weights(dataset, options), whole);
  }
}

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
    part->targets.select(1, 0).masked_fill_(draw.lt(0.4), std::numeric_limits<float>::quiet_NaN());
    part->targets.select(1, 1).masked_fill_(draw.gt(0.9), std::numeric_limits<float>::quiet_NaN());
  }
  return dataset;
}

TEST(MissingTargets, LetTheOthersWeighTheSameHoweverABatchIsCut) {
  expect_the_same_however_cut(dataset_with_missing(), /*learning_rate=*/0.5, {2, 8});
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

// Targets of steps, by a task whose best loss is known: each step has a random bit, and its class is whether the bit
// differs from the bit before it; a tenth of the classes are wrong at random.
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
  const std::vector<EpochRow> rows = run_toy(dataset, options, /*output_dropout=*/0, LayerKind::kBlocked).seen.rows;
  EXPECT_LT(*rows.back().valid_loss, best_loss() + 0.03);
  EXPECT_GT(rows.back().metrics.at("valid_accuracy"), 1 - kWrong - 0.03);
  constexpr int64_t kFewEpochs = 3;
  options.settings.epochs = kFewEpochs;
  for (const LayerKind layer : {LayerKind::kNaive, LayerKind::kFused, LayerKind::kHoisted}) {
    const EpochRow last = run_toy(dataset, options, /*output_dropout=*/0, layer).seen.rows.back();
    EXPECT_NEAR(*last.valid_loss, *rows.at(kFewEpochs - 1).valid_loss, 1e-3) << "all layers compute the same";
  }
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

TEST(TargetsOfSteps, WeighTheSameHoweverABatchIsCut) {
  expect_the_same_however_cut(tagged_dataset(), /*learning_rate=*/1.0, {4});
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
  testing::expect_error(ExitCode::kUsage, [&] { run_toy(toy_dataset(), options); });
}

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
  testing::expect_error(ExitCode::kUsage, [&] { run_toy(toy_dataset(64, 32, Task::kRegression), options); });
}

// ---- training.carry_state: the rows of a batch continue the text of the batch before ----

// Windows of a text of 24 characters and five tokens, without validation: six of four steps, or fewer that are longer.
Dataset text_dataset(int64_t num_steps = 4) {
  const auto generator = at::detail::createCPUGenerator(3);
  const at::Tensor text = at::randint(5, {25}, generator, at::TensorOptions(at::kLong));
  Dataset dataset;
  dataset.train.inputs = text.narrow(0, 0, 24).view({-1, num_steps}).contiguous();
  dataset.train.targets = text.narrow(0, 1, 24).view({-1, num_steps}).contiguous();
  dataset.shape = {.task = Task::kLanguageModel, .input_size = 5, .sequence_length = num_steps, .num_outputs = 5};
  return dataset;
}

// The weights stay as they are, so that losses depend on the windows and the states alone.
TrainerOptions still_options() {
  TrainerOptions options = toy_options();
  options.settings.batch_size = 2;
  options.settings.learning_rate = 1e-30;
  return options;
}

std::vector<double> losses_with(const Dataset& dataset, const TrainerOptions& options) {
  return run_toy(dataset, options).seen.losses;
}

TEST(CarriedStates, BeginEachEpochWithZeros) {
  TrainerOptions options = still_options();
  options.settings.carry_state = true;
  const std::vector<double> losses = losses_with(text_dataset(), options);
  ASSERT_EQ(losses.size(), 6u);
  for (size_t step = 0; step < 3; ++step) EXPECT_EQ(losses[step + 3], losses[step]) << step;
}

// Row 0 reads windows 0, 1 and 2, and row 1 reads windows 3, 4 and 5.
TEST(CarriedStates, ReachFromEachBatchToTheNext) {
  TrainerOptions options = still_options();
  options.settings.epochs = 1;
  options.settings.carry_state = true;
  const Dataset dataset = text_dataset();
  const std::vector<double> carried = losses_with(dataset, options);
  options.settings.carry_state = false;
  options.settings.shuffle = false;
  Dataset in_turns = dataset;
  in_turns.train = take(dataset.train, {0, 3, 1, 4, 2, 5});
  const std::vector<double> without = losses_with(in_turns, options);
  EXPECT_EQ(carried.at(0), without.at(0)) << "both begin with zeros";
  EXPECT_NE(carried.at(1), without.at(1));
  EXPECT_NE(carried.at(2), without.at(2));
}

TEST(CarriedStates, MakeThreeWindowsEqualToOneLongSequence) {
  TrainerOptions options = still_options();
  options.settings.epochs = 1;
  options.settings.shuffle = false;
  const double of_long = losses_with(text_dataset(12), options).at(0);
  const auto mean_with = [&](bool carry_state) {
    options.settings.carry_state = carry_state;
    Dataset dataset = text_dataset();
    if (!carry_state) dataset.train = take(dataset.train, {0, 3, 1, 4, 2, 5});
    const std::vector<double> losses = losses_with(dataset, options);
    return (losses.at(0) + losses.at(1) + losses.at(2)) / 3;
  };
  EXPECT_NEAR(mean_with(true), of_long, 1e-6);
  EXPECT_GT(std::abs(mean_with(false) - of_long), 1e-4) << "without states the windows are not one sequence";
}

TEST(Evaluate, LeavesTheModelInItsModeAndDropsNothing) {
  const auto dataset = toy_dataset();
  const auto model = toy_model(dataset, LayerKind::kNaive, /*output_dropout=*/0.5);
  BatchOptions options;
  options.batch_size = 10;
  Batches batches(dataset.valid, options, at::Device(at::kCPU));
  const Objective objective(TrainingSettings(), dataset, at::Device(at::kCPU));
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
