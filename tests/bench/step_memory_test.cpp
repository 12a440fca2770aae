#include "bench/step_memory.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

namespace rnnlab {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

class StepMemory : public ::testing::TestWithParam<c10::DeviceType> {
 protected:
  void SetUp() override {
    if (GetParam() == c10::kCUDA && !torch::cuda::is_available()) GTEST_SKIP() << "no CUDA";
  }
  c10::Device device() const { return GetParam() == c10::kCPU ? c10::Device(c10::kCPU) : c10::Device(c10::kCUDA, 0); }
  at::Tensor allocate(int64_t bytes) const { return at::empty({bytes}, at::TensorOptions(device()).dtype(at::kByte)); }
};

TEST_P(StepMemory, IsTheMostThatIsHeldAtOnce) {
  const auto work = [&] {
    allocate(4 * kMegabyte);  // gone at once
    const at::Tensor first = allocate(2 * kMegabyte);
    const at::Tensor second = allocate(3 * kMegabyte);
  };
  EXPECT_EQ(peak_bytes_during(device(), work), 5 * kMegabyte);
}

TEST_P(StepMemory, WhatWasThereBeforeDoesNotCount) {
  const at::Tensor before = allocate(8 * kMegabyte);
  EXPECT_EQ(peak_bytes_during(device(), [&] { allocate(kMegabyte); }), kMegabyte);
}

INSTANTIATE_TEST_SUITE_P(Devices, StepMemory, ::testing::Values(c10::kCPU, c10::kCUDA));

}  // namespace
}  // namespace rnnlab
