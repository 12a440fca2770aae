#include "results/bystanders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

GpuSurvey survey_with(std::vector<std::vector<int64_t>> pids) {
  GpuSurvey survey;
  for (auto& each : pids) {
    GpuInfo& gpu = survey.gpus.emplace_back();
    gpu.name = "Some GPU";
    gpu.compute_pids = std::move(each);
  }
  return survey;
}

TEST(PartOfOthers, IsWhatThisProcessDidNotTake) {
  const char* before = "cpu0 100 0 0 100 0 0 0 0\ncpu1 0 0 0 200 0 0 0 0\n";
  const char* after = "cpu0 200 0 0 100 0 0 0 0\ncpu1 60 0 0 240 0 0 0 0\n";
  EXPECT_DOUBLE_EQ(part_of_others(before, after, {0, 1}, 1.0, 100), 0.3);
  EXPECT_DOUBLE_EQ(part_of_others(before, after, {0, 1}, 1.6, 100), 0);
  EXPECT_DOUBLE_EQ(part_of_others(before, after, {0, 1}, 1.8, 100), 0) << "the counters are coarse";
  EXPECT_DOUBLE_EQ(part_of_others(before, before, {0, 1}, 0, 100), 0);
}

TEST(Newcomers, AreMoreThanThisProcess) {
  EXPECT_THAT(newcomers(survey_with({{}}), survey_with({{7}})), IsEmpty()) << "a container's own process";
  EXPECT_THAT(newcomers(survey_with({{5}}), survey_with({{5, 7}})), IsEmpty());
  EXPECT_THAT(newcomers(survey_with({{}, {5}}), survey_with({{}, {5, 7, 8, 9}})),
              ElementsAre("GPU 1 (Some GPU) WAS SHARED: 2 other processes came while it trained: its times are not "
                          "yours"));
}

TEST(Bystanders, AreNotLookedForInAMoment) {
  const Environment environment;
  EXPECT_THAT(Bystanders(environment).warnings(), IsEmpty());
}

}  // namespace
}  // namespace rnnlab
