#include "bench/throttling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Throttling, ClocksHeldDownAreSaid) {
  GpuSurvey survey;
  GpuInfo& gpu = survey.gpus.emplace_back();
  gpu.name = "NVIDIA H200";
  EXPECT_THAT(throttling(survey), IsEmpty());
  gpu.throttle_reasons = {"power cap"};
  gpu.sm_clock_mhz = 1200;
  gpu.max_sm_clock_mhz = 1980;
  EXPECT_THAT(throttling(survey),
              ElementsAre("GPU 0 (NVIDIA H200) was THROTTLED: power cap (SM clock 1200 of 1980 MHz)"));
}

}  // namespace
}  // namespace rnnlab
