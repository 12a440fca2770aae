#include "results/gpu_energy.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TEST(GpuEnergy, IsTheGpusOwnCountInJoules) {
  const GpuEnergy energy("GPU-1", RNNLAB_FAKE_NVML);
  const auto before = energy.joules();
  const auto after = energy.joules();
  ASSERT_TRUE(before && after);
  EXPECT_DOUBLE_EQ(*after - *before, 0.25);
}

TEST(GpuEnergy, IsNothingWithoutAGpu) {
  EXPECT_EQ(GpuEnergy("", RNNLAB_FAKE_NVML).joules(), std::nullopt);
  EXPECT_EQ(GpuEnergy("GPU-1", "libno-such-nvml.so.1").joules(), std::nullopt);
  EXPECT_EQ(GpuEnergy("GPU-1", "libm.so.6").joules(), std::nullopt) << "no counter in it";
}

}  // namespace
}  // namespace rnnlab
