// SPDX-License-Identifier: Apache-2.0
#include "train/loop/gradient_exchange.h"

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include <cmath>

#include "train/loop/batch_loop.h"
#include "train/loop/cuda_functions.h"
#include "train/loop/determinism.h"
#include "train/loop/toy.h"

namespace rnnlab {
namespace {

TrainerOptions options_with_shards(std::optional<int64_t> shards) {
  TrainerOptions options = toy_options();
  options.settings.shards = shards;
  return options;
}

std::vector<double> losses_with_shards(const Dataset& dataset, std::optional<int64_t> shards) {
  return run_toy(dataset, options_with_shards(shards)).seen.losses;
}

// 100 samples in batches of 32: the last one has 4, which is fewer than eight shards.
TEST(GradientExchange, OfShardsComputesWhatAWholeBatchDoes) {
  const Dataset dataset = toy_dataset(100);
  const std::vector<double> whole = losses_with_shards(dataset, std::nullopt);
  for (const int64_t shards : {1, 2, 8}) {
    const std::vector<double> cut = losses_with_shards(dataset, shards);
    ASSERT_EQ(cut.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(cut[i], whole[i], 1e-5) << shards << " shards, step " << i;
  }
}

// Returns the loss of the first step with `count` samples that are all the same, with dropout; each sample is a shard.
double loss_of_equal_samples(int64_t count) {
  Dataset dataset = toy_dataset(count);
  dataset.train.inputs = dataset.train.inputs.narrow(0, 0, 1).repeat({count, 1, 1}).contiguous();
  dataset.train.targets = dataset.train.targets.narrow(0, 0, 1).repeat({count}).contiguous();
  TrainerOptions options = options_with_shards(count);
  options.settings.batch_size = count;
  return run_toy(dataset, options, /*output_dropout=*/0.5).seen.losses.at(0);
}

TEST(GradientExchange, DrawsOtherMasksForEachShard) {
  EXPECT_GT(std::abs(loss_of_equal_samples(2) - loss_of_equal_samples(1)), 1e-4);
}

// The first of two ranks; the second rank always has the same values as the first.
class TwoEqualRanks : public Ranks {
 public:
  TwoEqualRanks() : Ranks(0, 2) {}
  std::string backend() const override { return "none"; }
  void all_reduce(at::Tensor& values) override { values.mul_(2); }
  void all_gather_into(const at::Tensor& values, const at::Tensor& all) override {
    all.copy_(at::stack({values, values}));
  }
  std::vector<std::string> all_gather_texts(const std::string& text) override { return {text, text}; }
  void post_failure(ExitCode, const std::string&) noexcept override {}
  bool claim_report(const std::string&) noexcept override { return true; }
};

Evaluation one_step(GradientExchange& exchange, const at::Tensor& weight) {
  weight.mutable_grad() = at::ones_like(weight);
  const at::Tensor one = at::ones({});
  exchange.set_sums({one, one, one, 2}, /*factor=*/1);
  exchange.store_shard(exchange.first_shard());
  const Batch batch{.inputs = weight, .targets = weight, .lengths = {}, .size = 2, .whole_size = 4, .whole_targets = 4};
  return exchange.all_reduce({&batch, 1});
}

TEST(GradientExchange, TellsOnceHowLongItTook) {
  TwoEqualRanks ranks;
  for (const std::optional<int64_t> shards : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    const at::Tensor weight = at::zeros({3});
    GradientExchange exchange({.ranks = &ranks, .shards = shards}, {{"weight", weight}});
    EXPECT_EQ(exchange.take_seconds(), 0);
    one_step(exchange, weight);
    EXPECT_TRUE(weight.grad().equal(at::full({3}, 2.0F)));
    EXPECT_GT(exchange.take_seconds().value(), 0);
    EXPECT_EQ(exchange.take_seconds(), 0) << "the last call has taken the seconds";
  }
}

TEST(GradientExchange, OfAProcessAloneTakesNoTime) {
  const at::Tensor weight = at::zeros({3});
  GradientExchange exchange({.shards = 1}, {{"weight", weight}});
  one_step(exchange, weight);
  EXPECT_FALSE(exchange.take_seconds());
}

// There are as many steps as samples, so the sizes do not show which axis of the targets is that of the samples.
TEST(GradientExchange, CutsTokensBySamples) {
  const at::Tensor weight = at::arange(3, at::kFloat);
  const GradientExchange exchange({.shards = 2}, {{"weight", weight}});
  const at::Tensor tokens = at::arange(16, at::kLong).view({4, 4});
  const Batch batch{.inputs = tokens, .targets = tokens + 1, .lengths = {}, .size = 4, .whole_size = 4};
  const Batch first = exchange.shard_of(batch, 0), second = exchange.shard_of(batch, 1);
  EXPECT_EQ(first.size, 2);
  EXPECT_TRUE(at::cat({first.inputs, second.inputs}, 1).equal(batch.inputs));
  EXPECT_TRUE(at::cat({first.targets, second.targets}, 1).equal(batch.targets));
}

}  // namespace
namespace {

void wait(const std::function<bool()>& has_ended) {
  while (!has_ended()) {
  }
}

TEST(DelayedValues, AreThereAtOnceOnACpu) {
  DelayedValues values;
  EXPECT_FALSE(values.next(wait));
  at::Tensor changing = at::full({2}, 1.0F);
  values.append(changing);
  changing.fill_(2);
  EXPECT_TRUE(values.next(wait).value().equal(at::full({2}, 1.0F)));
  EXPECT_FALSE(values.next(wait));
}

TEST(DelayedValues, OnAGpuAreReadStepsLater) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  DelayedValues values;
  const at::Tensor changing = at::full({2}, 0.0F, at::TensorOptions().device(at::kCUDA));
  for (size_t step = 0; step < 5; ++step) {
    changing.fill_(static_cast<double>(step));
    values.append(changing);
    const auto read = values.next(wait);
    ASSERT_EQ(read.has_value(), step >= DelayedValues::kStepsBehind);
    if (!read) continue;
    EXPECT_EQ(read->sum().item<double>(), 2.0 * static_cast<double>(step - DelayedValues::kStepsBehind));
  }
  values.clear();
  EXPECT_FALSE(values.next(wait));
}

at::Tensor mask(c10::Device device) {
  return at::dropout(at::ones({1000}, at::TensorOptions().device(device)), 0.5, /*train=*/true);
}

at::Tensor mask_of(c10::Device device, const StepShard& shard) {
  seed_shard(device, /*seed=*/7, shard);
  return mask(device);
}

TEST(ShardSeeds, GiveEachShardOfEachStepAMaskOfItsOwn) {
  const at::Tensor first = mask_of(at::kCPU, {.first_step = 5, .num_shards = 2});
  EXPECT_TRUE(mask_of(at::kCPU, {.first_step = 4, .slot = 1, .num_shards = 2}).equal(first)) << "the same step";
  EXPECT_FALSE(mask_of(at::kCPU, {.first_step = 5, .num_shards = 2, .shard = 1}).equal(first));
  EXPECT_FALSE(mask_of(at::kCPU, {.first_step = 6, .num_shards = 2}).equal(first));
}

// A graph of two steps with two shards each is replayed for steps 11 and 12 after it was captured for 3 and 4.
TEST(ShardSeeds, AreThoseOfTheStepsThatAReplayStandsFor) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  const c10::Device device(at::kCUDA, 0);
  const c10::OptionalStreamGuard stream(graph_stream(device));
  const auto masks_from = [&](int64_t first_step) {
    std::vector<at::Tensor> masks;
    for (const int64_t slot : {0, 1})
      for (const int64_t shard : {0, 1})
        masks.push_back(mask_of(device, {.first_step = first_step, .slot = slot, .num_shards = 2, .shard = shard}));
    return at::cat(masks);
  };
  const at::Tensor expected = masks_from(11).clone();
  at::Tensor masks;
  const auto graph = make_captured_work(device);
  graph->capture_without_warmup([&] { masks = masks_from(3); });
  seed_shard(device, 7, {.first_step = 11, .num_shards = 2});
  graph->replay();
  EXPECT_TRUE(masks.equal(expected));
  EXPECT_FALSE(masks.slice(0, 0, 1000).equal(masks.slice(0, 1000, 2000)));
}

}  // namespace
}  // namespace rnnlab
