#include "bench/machine_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

GpuSurvey survey_with(std::vector<int64_t> processes) {
  GpuSurvey survey;
  survey.gpus.resize(1);
  survey.gpus[0].name = "NVIDIA H200";
  survey.gpus[0].compute_pids = std::move(processes);
  return survey;
}

TEST(MachineWatch, ClocksHeldDownAreSaid) {
  GpuSurvey survey = survey_with({});
  EXPECT_THAT(throttling(survey), IsEmpty());
  survey.gpus[0].throttle_reasons = {"power cap"};
  survey.gpus[0].sm_clock_mhz = 1200;
  survey.gpus[0].max_sm_clock_mhz = 1980;
  EXPECT_THAT(throttling(survey),
              ElementsAre("GPU 0 (NVIDIA H200) was THROTTLED: power cap (SM clock 1200 of 1980 MHz)"));
}

TEST(MachineWatch, OneNewcomerMayBeThisProcess) {
  EXPECT_THAT(newcomers(survey_with({7}), survey_with({7, 8}), CpuInfo{}), IsEmpty());
}

TEST(MachineWatch, TwoAreCompany) {
  EXPECT_THAT(newcomers(survey_with({7}), survey_with({7, 8, 9}), CpuInfo{}),
              ElementsAre("GPU 0 (NVIDIA H200) GOT COMPANY: processes that were not there at the start (pid 8, 9)"));
}

TEST(MachineWatch, OtherWorkOnTheCpuIsSaid) {
  CpuInfo cpu;
  cpu.usable_cpus = 2;
  cpu.busy_fraction = 0.24;
  EXPECT_THAT(newcomers({}, {}, cpu), IsEmpty());
  cpu.busy_fraction = 0.5;
  EXPECT_THAT(newcomers({}, {}, cpu),
              ElementsAre("THE CPU IS BUSY: other work took 50 % of the 2 usable CPUs at the end"));
}

}  // namespace
}  // namespace rnnlab
