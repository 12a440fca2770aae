// SPDX-License-Identifier: Apache-2.0
#include "runs/memory_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "golden.h"
#include "runs/run_context.h"
#include "runs/tiny_experiment.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

using testing::expect_error;
using ::testing::IsEmpty;
using testing::tiny_experiment;

constexpr int64_t kMiB = int64_t{1} << 20;
const c10::Device kCpu(c10::kCPU);
const c10::Device kGpu(c10::kCUDA, 0);

MemoryEstimate sample_estimate() {
  return {
      .data = 10 * kMiB, .weights = 3 * kMiB, .gradients = 3 * kMiB, .optimizer = 6 * kMiB, .activations = 4 * kMiB};
}

TEST(MemoryEstimate, IsThatOfTheRunBeforeAndAfterLoading) {
  const Experiment experiment = tiny_experiment();
  const RunContext run(experiment, {});
  const MemoryEstimate before = estimate_memory(experiment, Purpose::kTraining);
  EXPECT_EQ(before.data, run.dataset.train.bytes() + run.dataset.valid.bytes());
  EXPECT_EQ(before.weights, 4 * num_parameters(*run.model));
  EXPECT_EQ(before.gradients, before.weights);
  EXPECT_EQ(before.optimizer, 2 * before.weights) << "of Adam";
  const int64_t batch = std::min(experiment.training.batch_size, run.dataset.train.size());
  EXPECT_EQ(before.activations, 28 * batch * (28 + experiment.model.hidden_size) * 4) << "inputs and outputs";
  const MemoryEstimate after = estimate_memory(
      experiment, Purpose::kTraining,
      {run.dataset.shape, run.dataset.train.bytes() + run.dataset.valid.bytes(), run.dataset.train.size()});
  EXPECT_EQ(after.on_device(kCpu), before.on_device(kCpu));
}

TEST(MemoryEstimate, CountsTheTensorsOfTheOptimizer) {
  const auto copies = [](const std::vector<std::string>& overrides) {
    const MemoryEstimate estimate = estimate_memory(tiny_experiment(overrides), Purpose::kTraining);
    return estimate.optimizer / estimate.weights;
  };
  EXPECT_EQ(copies({"training.optimizer=adamw"}), 2);
  EXPECT_EQ(copies({"training.optimizer=sgd"}), 0);
  EXPECT_EQ(copies({"training.optimizer=sgd", "training.momentum=0.9"}), 1);
}

TEST(MemoryEstimate, OfInferenceHasWeightsAndOneBatch) {
  const MemoryEstimate estimate = estimate_memory(tiny_experiment(), Purpose::kInference);
  EXPECT_EQ(estimate.data, (200 + 50) * (28 * 28 * 4 + 8)) << "pixels, and classes";
  EXPECT_EQ(estimate.weights, 4 * (32 * (28 + 8 + 2) + 10 * (8 + 1)));
  EXPECT_EQ(estimate.gradients + estimate.optimizer, 0);
  EXPECT_EQ(estimate.activations, 28 * 50 * 28 * 4) << "the inputs of all samples of validation";
  EXPECT_EQ(estimate.on_device(kCpu), estimate.data + estimate.weights + estimate.activations);
}

TEST(MemoryEstimate, OfTheImageModelHasTheOutputsOfItsPoolings) {
  for (const char* convolutions : {"model.num_convolutions=2", "model.num_convolutions=4"}) {
    const auto cases = testing::cases_of(
        "device: cpu\ndata: {source: digits}\nmodel: {kind: image_classifier}\ntraining: {batch_size: 50}\n",
        {convolutions});
    const MemoryEstimate estimate = estimate_memory(cases.front().experiment, Purpose::kTraining);
    EXPECT_EQ(estimate.activations, 50 * 4 * (28 * 28 + 32 * 14 * 14 + 64 * 7 * 7)) << convolutions;
  }
}

TEST(MemoryEstimate, NeverOverflows) {
  const Experiment huge =
      tiny_experiment({"data.num_train=1000000000", "training.batch_size=1000000000", "model.hidden_size=65536",
                       "model.num_layers=1024", "model.bidirectional=true"});
  const MemoryEstimate estimate = estimate_memory(huge, Purpose::kTraining);
  EXPECT_GT(estimate.weights, int64_t{1} << 40);
  EXPECT_LT(estimate.weights, INT64_MAX);
  EXPECT_EQ(estimate.activations, INT64_MAX);
  EXPECT_EQ(estimate.on_device(kCpu), INT64_MAX);
}

TEST(MemoryEstimate, OfALayerThatIsTimed) {
  const RecurrentOptions options{.cell = Cell::kLstm, .input_size = 8, .hidden_size = 16, .num_layers = 2};
  const MemoryEstimate estimate = estimate_memory(options, 10, 4, Precision::kFp32);
  EXPECT_EQ(estimate.weights, 4 * (64 * (8 + 16 + 2) + 64 * (16 + 16 + 2)));
  EXPECT_EQ(estimate.data, 4 * 10 * 4 * (8 + 16));
  EXPECT_EQ(estimate.activations, 4 * 10 * 4 * 2 * 16);
}

TEST(MemoryEstimate, OfAGpuLeavesTheDataOnTheHostUnlessTheyArePlacedThere) {
  MemoryEstimate estimate = sample_estimate();
  EXPECT_EQ(estimate.on_device(kCpu), 23 * kMiB);
  EXPECT_EQ(estimate.on_host(kCpu), 23 * kMiB);
  EXPECT_EQ(estimate.on_device(kGpu), 13 * kMiB);
  EXPECT_EQ(estimate.on_host(kGpu), 10 * kMiB);
  estimate.placement = Placement::kDevice;
  EXPECT_EQ(estimate.on_device(kGpu), 23 * kMiB);
}

TEST(MemoryEstimate, OfAFileDoesNotAddItToTheModel) {
  MemoryEstimate estimate = sample_estimate();
  estimate.is_data_a_file = true;
  EXPECT_EQ(estimate.on_device(kCpu), 13 * kMiB) << "the file is gone before there is a model";
  estimate.data = 20 * kMiB;
  EXPECT_EQ(estimate.on_device(kCpu), 20 * kMiB);
  EXPECT_EQ(estimate.on_host(kGpu), 20 * kMiB);
}

TEST(CheckMemory, RefusesWhatExceedsALimitOfTheHost) {
  const MemoryLimits host{.hard = {{8 * kMiB, "ulimit -v"}}, .available = std::nullopt};
  expect_error(ExitCode::kDevice, [&] { check_memory(sample_estimate(), {}, kCpu, host, {}); });
  MemoryEstimate of_data = sample_estimate();
  of_data.data = 100 * kMiB;
  expect_error(ExitCode::kDevice, [&] { check_memory(of_data, {}, kCpu, host, {}); });
}

TEST(CheckMemory, RefusesWhatExceedsTheGpu) {
  const MemoryLimits gpu{.hard = {{12 * kMiB, "the GPU"}}, .available = 5 * kMiB};
  expect_error(ExitCode::kDevice, [&] { check_memory(sample_estimate(), {}, kGpu, {}, gpu); });
}

TEST(CheckMemory, WarnsOfWhatExceedsTheFreeMemory) {
  const MemoryLimits host{.hard = {{64 * kMiB, "ulimit -v"}}, .available = 20 * kMiB};
  expect_golden(check_memory(sample_estimate(), {}, kCpu, host, {}));
  EXPECT_THAT(check_memory(sample_estimate(), {}, kGpu, host, {}), IsEmpty());
}

TEST(CheckMemory, IsDoneBeforeDataAreLoadedOrAModelIsMade) {
  for (const std::string override :
       {"data.num_train=1000000000", "model.num_layers=1024", "model.dense=[1000000,1000000]"}) {
    const auto make_run = [&] { RunContext(tiny_experiment({override, "model.hidden_size=65536"}), {}); };
    EXPECT_THAT(testing::message_of_error(ExitCode::kDevice, make_run), ::testing::HasSubstr("this run (data "));
  }
}

}  // namespace
}  // namespace rnnlab
