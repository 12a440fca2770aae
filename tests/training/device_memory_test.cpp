#include "training/device_memory.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

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
  release_cached_memory();  // must not fail if there is no GPU, or if no GPU has been used
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const c10::Device gpu(at::kCUDA, 0);
  { const auto large = at::empty({64 * kMebibyte}, at::TensorOptions(at::kByte).device(gpu)); }
  const int64_t kept = reserved_bytes(gpu);
  release_cached_memory();
  EXPECT_LE(reserved_bytes(gpu), kept - 64 * kMebibyte);
}

}  // namespace
}  // namespace rnnlab
