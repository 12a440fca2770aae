// SPDX-License-Identifier: Apache-2.0
#include "train/loop/batch_loop.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include <csignal>

#include "base/error.h"
#include "layers/device/gpu_support.h"
#include "layers/refusals.h"
#include "train/loop/stop_signal.h"
#include "train/loop/toy.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Batches batches_of(const Dataset& dataset, int64_t batch_size) {
  return {dataset.train, {.batch_size = batch_size, .order = Order::kSequential}, c10::Device(c10::kCPU)};
}

EvaluatedStep count_batches(std::span<const Batch> batches, int64_t /*slot*/) {
  return {at::zeros({3}), static_cast<int64_t>(batches.size())};
}

TEST(BatchLoop, TakesAnEpochSomeBatchesAtATime) {
  const Dataset dataset = toy_dataset(/*num_train=*/50);
  Batches batches = batches_of(dataset, 8);
  BatchLoop loop(batches, /*batches_per_step=*/3, count_batches, Replay::kNever);
  batches.start_epoch(0);
  std::vector<int64_t> counts, samples;
  while (const auto step = loop.next()) {
    EXPECT_EQ(step->rows.sizes(), at::IntArrayRef({1, 3}));
    counts.push_back(step->counts.at(0));
    samples.push_back(step->num_samples.at(0));
  }
  EXPECT_THAT(counts, ElementsAre(3, 3, 1));
  EXPECT_THAT(samples, ElementsAre(24, 24, 2));
  EXPECT_EQ(loop.fallback_reason(), "") << "graphs were not requested";
}

TEST(BatchLoop, SaysWhyThereAreNoGraphsOnACpu) {
  const Dataset dataset = toy_dataset();
  Batches batches = batches_of(dataset, 8);
  BatchLoop loop(batches, 1, count_batches, Replay::kGraphs);
  EXPECT_THAT(loop.fallback_reason(), HasSubstr("the device is a CPU"));
  batches.start_epoch(0);
  EXPECT_EQ(loop.steps_per_launch(BatchLoop::kStepsPerGraph), 1);
  EXPECT_TRUE(loop.next()) << "the work runs eagerly";
}

// Compares the weights and losses of a run with and without graphs. The toy has 96 samples, so batches of 20 leave a
// tail of 16.
class GraphsAgainstSteps : public testing::TestWithParam<LayerKind> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
    if (const auto reason = refusal_of(GetParam(), work_on(c10::Device(c10::kCUDA, 0)))) GTEST_SKIP() << *reason;
  }

  static ToyRun train(bool cuda_graph, void (*change)(TrainingSettings&)) {
    TrainerOptions options = toy_options();
    options.device = c10::Device(c10::kCUDA, 0);
    options.settings.batch_size = 20;
    options.settings.epochs = 4;
    options.settings.cuda_graph = cuda_graph;
    change(options.settings);
    return run_toy(toy_dataset(), options, /*output_dropout=*/0.5, GetParam());
  }

  static void expect_the_same(void (*change)(TrainingSettings&)) {
    const ToyRun steps = train(false, change);
    const ToyRun graphs = train(true, change);
    EXPECT_EQ(graphs.why_no_graphs, "");
    EXPECT_EQ(graphs.seen.calls, steps.seen.calls);
    EXPECT_EQ(graphs.weights, steps.weights);
    EXPECT_EQ(graphs.seen.losses, steps.seen.losses);
    ASSERT_EQ(graphs.seen.rows.size(), steps.seen.rows.size());
    EXPECT_EQ(graphs.seen.rows.back().valid_loss, steps.seen.rows.back().valid_loss);
  }
};

TEST_P(GraphsAgainstSteps, AreBitIdentical) {
  expect_the_same([](TrainingSettings&) {});
}

TEST_P(GraphsAgainstSteps, AreBitIdenticalWithEverythingThatAStepCanHold) {
  expect_the_same([](TrainingSettings& settings) {
    settings.accumulate = 2;
    settings.clip_norm = 0.5;
    settings.optimizer = OptimizerKind::kAdamW;
    settings.weight_decay = 0.01;
    settings.schedule = ScheduleKind::kCosine;
    settings.warmup_steps = 3;
  });
}

// An epoch has 19 full batches and a tail: from the second epoch on two graphs of eight steps, three steps and the
// tail.
TEST_P(GraphsAgainstSteps, AreBitIdenticalWhereSeveralStepsAreOneGraph) {
  expect_the_same([](TrainingSettings& settings) {
    settings.batch_size = 5;
    settings.schedule = ScheduleKind::kCosine;
    settings.warmup_steps = 30;
    settings.clip_norm = 0.5;
  });
}

TEST_P(GraphsAgainstSteps, AreBitIdenticalWhereSeveralStepsOfSeveralBatchesAreOneGraph) {
  expect_the_same([](TrainingSettings& settings) {
    settings.batch_size = 5;
    settings.accumulate = 2;
    settings.schedule = ScheduleKind::kExponential;
    settings.decay_rate = 0.9;
    settings.max_steps = 33;
  });
}

// Trains two epochs of 24 steps, the second in graphs of eight: steps 25 to 32 are the first of these graphs.
ToyRun run_graphs_with(Recorder& seen, std::function<void(Trainer&, const StepProgress&)> at_step) {
  ToyRun run;
  const StopSignalGuard signals;
  const Dataset dataset = toy_dataset();
  const auto model = toy_model(dataset);
  TrainerOptions options = toy_options();
  options.device = c10::Device(c10::kCUDA, 0);
  options.settings.batch_size = 4;
  options.settings.cuda_graph = true;
  Trainer trainer(*model, dataset, options);
  seen.at_step = [&](const StepProgress& progress) { at_step(trainer, progress); };
  trainer.add_observer(seen);
  run.state = trainer.run();
  return run;
}

void interrupt_at_30(Trainer&, const StepProgress& progress) {
  if (progress.step == 30) ::raise(SIGINT);
}

TEST(GraphsOfSeveralSteps, EndBeforeASignalDoes) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  Recorder seen;
  EXPECT_EQ(run_graphs_with(seen, interrupt_at_30).state.step, 32);
}

TEST(GraphsOfSeveralSteps, EndWhereAnObserverLooks) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  Recorder seen;
  seen.needs_sync = [](int64_t step) { return step == 30; };
  EXPECT_EQ(run_graphs_with(seen, interrupt_at_30).state.step, 30);
}

TEST(GraphsOfSeveralSteps, HaveNoSnapshotAmongThem) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  Recorder seen;
  const auto take_one = [](Trainer& trainer, const StepProgress& progress) {
    if (progress.step == 30) (void)trainer.snapshot();
  };
  EXPECT_THROW(run_graphs_with(seen, take_one), InvariantError);
}

INSTANTIATE_TEST_SUITE_P(Layers, GraphsAgainstSteps,
                         testing::Values(LayerKind::kNaive, LayerKind::kFused, LayerKind::kHoisted,
                                         LayerKind::kWavefront, LayerKind::kDiagonal),
                         [](const auto& tested) { return std::string(config::name_of(tested.param)); });

}  // namespace
}  // namespace rnnlab
