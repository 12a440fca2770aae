// SPDX-License-Identifier: Apache-2.0
#include "base/system/gpu_info.h"

#include <gtest/gtest.h>

#include "golden.h"

namespace rnnlab {
namespace {

TEST(SurveyGpus, ReadsWhatTheLibrarySays) {
  const GpuSurvey survey = survey_gpus(RNNLAB_FAKE_NVML);
  EXPECT_EQ(survey.driver_version, "580.1");
  EXPECT_EQ(survey.cuda_version, 12020);
  EXPECT_EQ(survey.note, "");
  ASSERT_EQ(survey.gpus.size(), 1u);
  const GpuInfo& gpu = survey.gpus[0];
  EXPECT_EQ(gpu.name, "Fake GPU");
  EXPECT_EQ(gpu.compute_capability_major, 7);
  EXPECT_EQ(gpu.compute_capability_minor, 5);
  EXPECT_EQ(gpu.memory_total_bytes, 1000);
  EXPECT_EQ(gpu.memory_used_bytes, 400);
  EXPECT_EQ(gpu.sm_clock_mhz, 1200);
  EXPECT_EQ(gpu.max_sm_clock_mhz, 1980);
  EXPECT_EQ(gpu.memory_clock_mhz, 2600);
  EXPECT_EQ(gpu.max_memory_clock_mhz, 3200);
  EXPECT_DOUBLE_EQ(gpu.power_watts, 76.5);
  EXPECT_DOUBLE_EQ(gpu.power_limit_watts, 700);
  EXPECT_EQ(gpu.throttle_reasons, (std::vector<std::string>{"power cap", "thermal slowdown (hardware)"}));
}

TEST(SurveyGpus, LeavesItselfOutOfTheProcesses) {
  EXPECT_EQ(survey_gpus(RNNLAB_FAKE_NVML).gpus.at(0).compute_pids, std::vector<int64_t>{4321});
}

TEST(SurveyGpus, LeavesUnsupportedValuesAtZero) {
  const GpuInfo gpu = survey_gpus(RNNLAB_FAKE_NVML).gpus.at(0);
  EXPECT_EQ(gpu.temperature_celsius, 0);
  EXPECT_EQ(gpu.utilization_percent, 0);
  EXPECT_EQ(gpu.uuid, "");
}

TEST(SurveyGpus, SaysWhyNoGpuIsFound) {
  expect_golden(survey_gpus("libno-such-nvml.so.1").note);
  expect_golden(survey_gpus("libm.so.6").note);
}

TEST(DriverFault, NamesTheDriverThatIsThereAndTheOneThatIsWanted) {
  GpuSurvey survey = survey_gpus(RNNLAB_FAKE_NVML);
  expect_golden(driver_fault(survey, 13000));
  survey.cuda_version = 13010;
  EXPECT_EQ(driver_fault(survey, 13000), std::nullopt);
}

TEST(DriverFault, IsNothingIfNothingIsKnown) {
  GpuSurvey survey = survey_gpus(RNNLAB_FAKE_NVML);
  survey.cuda_version = 0;
  EXPECT_EQ(driver_fault(survey, 13000), std::nullopt);
  survey.cuda_version = 12020;
  survey.gpus.clear();
  EXPECT_EQ(driver_fault(survey, 13000), std::nullopt) << "there is no GPU to drive";
}

TEST(ThrottleReasons, LeaveIdleClocksOut) {
  EXPECT_TRUE(throttle_reasons(0x1 | 0x2 | 0x10).empty());
  EXPECT_EQ(throttle_reasons(0x8 | 0x20 | 0x80),
            (std::vector<std::string>{"hardware slowdown", "thermal slowdown (software)", "power brake"}));
}

}  // namespace
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
