#include "training/device_memory.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <chrono>

#include "training/toy.h"

namespace rnnlab {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

TEST(PeakMemory, OfACpuIsTheProcesssSinceTheLastReset) {
  const c10::Device cpu(at::kCPU);
  reset_peak_memory(cpu);
  const auto before = peak_memory_bytes(cpu);
  if (!before) GTEST_SKIP() << "this system does not reset the count";
  { const auto large = at::ones({64 * kMebibyte}, at::kByte); }
  EXPECT_GE(peak_memory_bytes(cpu).value(), *before + 60 * kMebibyte);
  release_cached_memory();
  reset_peak_memory(cpu);
  EXPECT_LT(peak_memory_bytes(cpu).value(), *before + 32 * kMebibyte);
}

TEST(PeakMemory, OfAGpuCountsFromTheLastReset) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const c10::Device gpu(at::kCUDA, 0);
  reset_peak_memory(gpu);
  const int64_t in_use = peak_memory_bytes(gpu).value();  // libraries keep what they took for earlier work
  { const auto large = at::empty({8 * kMebibyte}, at::TensorOptions(at::kByte).device(gpu)); }
  EXPECT_GE(peak_memory_bytes(gpu).value(), in_use + 8 * kMebibyte);
  reset_peak_memory(gpu);
  EXPECT_EQ(peak_memory_bytes(gpu), in_use);
}

int64_t reserved_bytes(c10::Device gpu) {
  const auto stats = c10::getDeviceAllocator(gpu.type())->getDeviceStats(gpu.index());
  return stats.reserved_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].current;
}

TEST(ReleaseCachedMemory, GivesBackWhatAGpusAllocatorKept) {
  release_cached_memory();  // must do no harm where there is no GPU, or none has been used
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const c10::Device gpu(at::kCUDA, 0);
  { const auto large = at::empty({64 * kMebibyte}, at::TensorOptions(at::kByte).device(gpu)); }
  const int64_t kept = reserved_bytes(gpu);
  release_cached_memory();
  EXPECT_LE(reserved_bytes(gpu), kept - 64 * kMebibyte);
}

}  // namespace
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
