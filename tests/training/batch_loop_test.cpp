#include "training/batch_loop.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "training/toy.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Batches batches_of(const Dataset& dataset, int64_t batch_size) {
  return {dataset.train, {.batch_size = batch_size, .order = Order::kSequential}, c10::Device(c10::kCPU)};
}

EvaluatedStep count_batches(std::span<const Batch> batches) {
  return {at::zeros({3}), static_cast<int64_t>(batches.size())};
}

TEST(BatchLoop, TakesAnEpochSomeBatchesAtATime) {
  const Dataset dataset = toy_dataset(/*num_train=*/50);
  Batches batches = batches_of(dataset, 8);
  BatchLoop loop(batches, /*batches_per_turn=*/3, count_batches, Replay::kNever);
  batches.start_epoch(0);
  std::vector<int64_t> counts, samples;
  while (const auto turn = loop.next()) {
    counts.push_back(turn->step.count);
    samples.push_back(turn->num_samples);
  }
  EXPECT_THAT(counts, ElementsAre(3, 3, 1));
  EXPECT_THAT(samples, ElementsAre(24, 24, 2));
  EXPECT_EQ(loop.refusal(), "") << "nobody asked for graphs";
}

TEST(BatchLoop, SaysWhyThereAreNoGraphsOnACpu) {
  const Dataset dataset = toy_dataset();
  Batches batches = batches_of(dataset, 8);
  BatchLoop loop(batches, 1, count_batches, Replay::kGraphs);
  EXPECT_THAT(loop.refusal(), HasSubstr("on a CPU"));
  batches.start_epoch(0);
  EXPECT_TRUE(loop.next()) << "the work is done all the same";
}

// A run's weights and losses with and without graphs; the toy has 96 samples, so batches of 20 leave a tail of 16.
class GraphsAgainstSteps : public testing::TestWithParam<LayerKind> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
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

INSTANTIATE_TEST_SUITE_P(Layers, GraphsAgainstSteps,
                         testing::Values(LayerKind::kNaive, LayerKind::kFused, LayerKind::kHoisted,
                                         LayerKind::kWavefront, LayerKind::kDiagonal),
                         [](const auto& tested) { return std::string(config::name_of(tested.param)); });

}  // namespace
}  // namespace rnnlab
