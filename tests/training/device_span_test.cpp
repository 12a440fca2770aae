#include "training/device_span.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <chrono>

#include "training/toy.h"

namespace rnnlab {
namespace {

TEST(DeviceSpan, IsNothingOnACpu) {
  DeviceSpan span(c10::Device(c10::kCPU));
  span.begin();
  span.end();
  EXPECT_EQ(span.seconds(), std::nullopt);
}

// What an unsynchronised timer would claim, and what this says against it.
TEST(DeviceSpan, CountsWhatTheHostDidNotWaitFor) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const c10::Device gpu(c10::kCUDA, 0);
  const auto square = at::rand({4096, 4096}, gpu);
  at::matmul(square, square);
  torch::cuda::synchronize();
  DeviceSpan span(gpu);
  const auto began = std::chrono::steady_clock::now();
  span.begin();
  for (int i = 0; i < 50; ++i) at::matmul(square, square);
  span.end();
  const std::chrono::duration<double> queued = std::chrono::steady_clock::now() - began;
  EXPECT_GT(span.seconds().value(), 2 * queued.count());
}

TEST(Trainer, HasTheTimeOfItsEpochsFromTheGpuToo) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const bool graphs : {false, true}) {
    auto options = toy_options();
    options.device = c10::Device(c10::kCUDA, 0);
    options.settings.cuda_graph = graphs;
    const auto run = run_toy(toy_dataset(4096), options);
    const EpochRow& row = run.seen.rows.back();
    EXPECT_NEAR(row.device_seconds.value(), row.train_seconds, row.train_seconds / 2);
  }
}

TEST(Trainer, HasNoOtherClockOnACpu) {
  EXPECT_FALSE(run_toy(toy_dataset(), toy_options()).seen.rows.back().device_seconds.has_value());
}

}  // namespace
}  // namespace rnnlab
