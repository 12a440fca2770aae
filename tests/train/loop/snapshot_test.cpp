// SPDX-License-Identifier: Apache-2.0
#include "train/loop/snapshot.h"

#include <ATen/ops/full_like.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include <csignal>
#include <limits>

#include "base/expect_error.h"
#include "base/sha256.h"
#include "golden.h"
#include "results/computed_values.h"
#include "train/loop/stop_signal.h"
#include "train/loop/toy.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

// One process trains a part of a run: from the beginning or from a snapshot, to the end or to a signal.
struct Part {
  std::vector<EpochRow> rows;
  Snapshot end;
  TrainingState state;
};

struct Work {
  TrainerOptions options = toy_options();
  double output_dropout = 0.0;
  LayerKind layer = LayerKind::kNaive;
  Dataset dataset = toy_dataset();
};

Part train_part(const Work& work, const std::optional<Snapshot>& from, std::optional<int64_t> signal_at_step) {
  const StopSignalGuard signals;
  const auto model = toy_model(work.dataset, work.layer, work.output_dropout);
  Trainer trainer(*model, work.dataset, work.options);
  Recorder seen;
  seen.at_step = [&](const StepProgress& progress) {
    if (progress.step == signal_at_step) ::raise(SIGTERM);
  };
  seen.needs_sync = [&](int64_t step) { return step == signal_at_step; };
  trainer.add_observer(seen);
  if (from) trainer.restore(*from);
  trainer.run();
  return {.rows = seen.rows, .end = trainer.snapshot(), .state = trainer.state()};
}

std::string sha256_of(const std::vector<NamedTensor>& tensors) {
  Sha256 hash;
  for (const auto& [name, tensor] : tensors)
    hash.update(name).update({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
  return hash.hex();
}

// Stops after every possible step, resumes in a new trainer, and compares with a run that never stopped.
void expect_exact_resume(const Work& work) {
  const Part whole = train_part(work, std::nullopt, std::nullopt);
  for (int64_t step = 1; step < whole.state.step; ++step) {
    SCOPED_TRACE(fmt::format("stopped after step {}", step));
    const Part first = train_part(work, std::nullopt, step);
    ASSERT_EQ(first.state.step, step);
    const Part second = train_part(work, first.end, std::nullopt);
    EXPECT_EQ(sha256_of(second.end.model), sha256_of(whole.end.model));
    EXPECT_EQ(sha256_of(second.end.optimizer), sha256_of(whole.end.optimizer));
    EXPECT_EQ(second.state.best_epoch, whole.state.best_epoch);
    EXPECT_EQ(second.state.best_value, whole.state.best_value);
    EXPECT_EQ(second.state.stop_text, whole.state.stop_text);
    const auto missing = whole.rows.size() - second.rows.size();
    for (size_t i = 0; i < second.rows.size(); ++i)
      EXPECT_EQ(testing::computed_values(second.rows[i]), testing::computed_values(whole.rows[missing + i]));
  }
}

struct NamedWork {
  const char* name;
  void (*change)(Work&);
};

const std::vector<NamedWork> kWorks = {
    {"Plain", [](Work&) {}},
    {"WithDropout", [](Work& w) { w.output_dropout = 0.5; }},
    {"WithAccumulationThatDoesNotDivideTheEpoch",
     [](Work& w) {
       w.options.settings.batch_size = 10;
       w.options.settings.accumulate = 3;
     }},
    {"WithMomentumAndASchedule",
     [](Work& w) {
       w.options.settings.optimizer = OptimizerKind::kSgd;
       w.options.settings.momentum = 0.9;
       w.options.settings.schedule = ScheduleKind::kCosine;
       w.options.settings.warmup_steps = 2;
     }},
    // With so high a rate the loss does not improve after the first epochs, so the rate falls before and after the
    // resume.
    {"WithPlateaus",
     [](Work& w) {
       w.options.settings.schedule = ScheduleKind::kPlateau;
       w.options.settings.learning_rate = 3.0;
       w.options.settings.decay_rate = 0.1;
       w.options.settings.decay_patience = 1;
     }},
    {"WithBatchesPreparedByAThread", [](Work& w) { w.options.placement = Placement::kHost; }},
    {"OfARegression", [](Work& w) { w.dataset = toy_dataset(96, 32, Task::kRegression); }},
    {"WithoutValidation", [](Work& w) { w.dataset = toy_dataset(96, 0); }},
    {"WithEarlyStopping", [](Work& w) {
       w.options.settings.epochs = 6;
       w.options.settings.learning_rate = 0.0;
       w.options.settings.early_stopping = "valid_loss";
       w.options.settings.patience = 2;
     }}};

class SnapshotOfWork : public ::testing::TestWithParam<NamedWork> {};

TEST_P(SnapshotOfWork, GoesOnFromAnyStepAsIfItHadNeverStopped) {
  Work work;
  GetParam().change(work);
  expect_exact_resume(work);
}

INSTANTIATE_TEST_SUITE_P(Each, SnapshotOfWork, ::testing::ValuesIn(kWorks),
                         [](const auto& tested) { return tested.param.name; });

TEST(Snapshot, CountsTheSecondsOfAllParts) {
  Work work;
  Part first = train_part(work, std::nullopt, 1);
  first.end.progress.seconds = 1000.0;
  work.options.settings.max_seconds = 900.0;
  expect_golden(train_part(work, first.end, std::nullopt).state.stop_text);
}

TEST(Snapshot, OnAGpuWithGraphsDropoutAndFloat16) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "needs a GPU";
  set_determinism(Determinism::kOn);
  for (const bool graphs : {false, true})
    for (const auto precision : {Precision::kFp32, Precision::kFp16}) {
      SCOPED_TRACE(fmt::format("graphs {}, {}", graphs, config::name_of(precision)));
      Work work;
      work.options.device = c10::Device(c10::kCUDA, 0);
      work.options.precision = precision;
      work.options.settings.cuda_graph = graphs;
      work.options.settings.epochs = 4;
      work.output_dropout = 0.5;
      work.layer = LayerKind::kFused;
      expect_exact_resume(work);
    }
  set_determinism(Determinism::kOff);
}

// An epoch has nine full batches and a tail: the first eight of the second epoch are one graph if no observer reads the
// state at one of its steps.
TEST(Snapshot, OnAGpuWithGraphsOfSeveralSteps) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "needs a GPU";
  set_determinism(Determinism::kOn);
  Work work;
  work.options.device = c10::Device(c10::kCUDA, 0);
  work.options.settings.cuda_graph = true;
  work.options.settings.batch_size = 10;
  work.options.settings.schedule = ScheduleKind::kCosine;
  work.output_dropout = 0.5;
  expect_exact_resume(work);
  set_determinism(Determinism::kOff);
}

TEST(Snapshot, AFinishedRunIsDoneAtOnceAndGoesOnWhereItsBoundIsRaised) {
  Work work;
  const Part done = train_part(work, std::nullopt, std::nullopt);
  const Part again = train_part(work, done.end, std::nullopt);
  EXPECT_TRUE(again.rows.empty());
  expect_golden(again.state.stop_text);
  work.options.settings.epochs = 4;
  const Part longer = train_part(work, done.end, std::nullopt);
  ASSERT_EQ(longer.rows.size(), 2U);
  EXPECT_EQ(longer.rows[0].epoch, 3);
  EXPECT_EQ(sha256_of(longer.end.model), sha256_of(train_part(work, std::nullopt, std::nullopt).end.model));
}

TEST(Snapshot, AnEpochInTwoPiecesIsMarkedAsWarmup) {
  Work work;
  work.options.settings.epochs = 4;
  work.options.settings.warmup_epochs = 1;
  const Part first = train_part(work, std::nullopt, 5);  // in the second epoch of three steps
  EXPECT_TRUE(first.rows[1].warmup);
  EXPECT_FALSE(first.rows[1].valid_loss);
  const Part second = train_part(work, first.end, std::nullopt);
  ASSERT_EQ(second.rows.size(), 3U);
  EXPECT_EQ(second.rows[0].epoch, 2);
  EXPECT_TRUE(second.rows[0].warmup);
  EXPECT_TRUE(second.rows[0].valid_loss);
  EXPECT_FALSE(second.rows[1].warmup);
}

TEST(Snapshot, SecondsAddUp) {
  const Work work;
  const Part first = train_part(work, std::nullopt, 1);
  const Part second = train_part(work, first.end, std::nullopt);
  EXPECT_GT(second.rows[0].train_seconds, first.rows[0].train_seconds);
  EXPECT_GT(second.end.progress.seconds, first.end.progress.seconds);
}

// Takes a snapshot after the run, with NaN planted in the tensor that `planted` returns.
void expect_never_taken(const std::function<at::Tensor(Model&, Trainer&)>& planted) {
  const auto dataset = toy_dataset();
  const auto model = toy_model(dataset);
  Trainer trainer(*model, dataset, toy_options());
  trainer.run();
  const at::NoGradGuard no_grad;
  planted(*model, trainer).fill_(std::numeric_limits<float>::quiet_NaN());
  testing::expect_error(ExitCode::kDiverged, [&] { trainer.snapshot(); });
}

TEST(Snapshot, IsNeverTakenOfWhatIsNotFinite) {
  expect_never_taken([](Model& model, Trainer&) { return model.parameters().front(); });
  expect_never_taken([](Model&, Trainer& trainer) { return trainer.optimizer().state().back().tensor; });
}

TEST(Snapshot, RefusesAGeneratorStateThatIsNone) {
  auto states = generator_states(c10::Device(c10::kCPU));
  states["cpu"] = states["cpu"].slice(0, 0, 8).clone();
  EXPECT_THROW(set_generator_states(states, c10::Device(c10::kCPU)), UserError);
  testing::expect_error(ExitCode::kCheckpoint, [] { set_generator_states({}, c10::Device(c10::kCPU)); });
}

}  // namespace
}  // namespace rnnlab
