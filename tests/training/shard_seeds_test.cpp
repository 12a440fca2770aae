// Tests the dropout masks of the shards of a step, drawn eagerly and by CUDA graphs.
#include <ATen/Context.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/ones.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include "training/batch_loop.h"
#include "training/cuda_graph.h"
#include "training/determinism.h"

namespace rnnlab {
namespace {

at::Tensor mask(c10::Device device) {
  return at::dropout(at::ones({1000}, at::TensorOptions().device(device)), 0.5, /*train=*/true);
}

at::Tensor mask_of(c10::Device device, const StepShard& shard) {
  seed_shard(device, /*seed=*/7, shard);
  return mask(device);
}

TEST(ShardSeeds, GiveEachShardOfEachStepAMaskOfItsOwn) {
  const at::Tensor first = mask_of(at::kCPU, {.first_step = 5, .num_shards = 2});
  EXPECT_TRUE(mask_of(at::kCPU, {.first_step = 4, .place = 1, .num_shards = 2}).equal(first)) << "the same step";
  EXPECT_FALSE(mask_of(at::kCPU, {.first_step = 5, .num_shards = 2, .shard = 1}).equal(first));
  EXPECT_FALSE(mask_of(at::kCPU, {.first_step = 6, .num_shards = 2}).equal(first));
}

// A graph of two steps with two shards each, replayed for steps 11 and 12 after it was captured for 3 and 4.
TEST(ShardSeeds, AreThoseOfTheStepsThatAReplayStandsFor) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  const c10::Device device(at::kCUDA, 0);
  const c10::OptionalStreamGuard stream(graph_stream(device));
  const auto masks_from = [&](int64_t first_step) {
    std::vector<at::Tensor> masks;
    for (const int64_t place : {0, 1})
      for (const int64_t shard : {0, 1})
        masks.push_back(mask_of(device, {.first_step = first_step, .place = place, .num_shards = 2, .shard = shard}));
    return at::cat(masks);
  };
  const at::Tensor expected = masks_from(11).clone();
  at::Tensor masks;
  const auto graph = make_captured_work(device);
  graph->capture_warm([&] { masks = masks_from(3); });
  seed_shard(device, 7, {.first_step = 11, .num_shards = 2});
  graph->replay();
  EXPECT_TRUE(masks.equal(expected));
  EXPECT_FALSE(masks.slice(0, 0, 1000).equal(masks.slice(0, 1000, 2000)));
}

}  // namespace
}  // namespace rnnlab
