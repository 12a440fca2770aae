#include "system/contention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "system/machine.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

GpuSurvey survey_with(std::vector<std::vector<int64_t>> pids) {
  GpuSurvey survey;
  for (auto& each : pids) {
    GpuInfo& gpu = survey.gpus.emplace_back();
    gpu.name = "Some GPU";
    gpu.uuid = "GPU-" + std::to_string(survey.gpus.size());
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

TEST(Newcomers, AreThoseWhoWereNotThereBefore) {
  EXPECT_THAT(newcomers(survey_with({{5, 7}}), survey_with({{7, 5}})), IsEmpty());
  EXPECT_THAT(newcomers(survey_with({{5, 7}}), survey_with({{7}})), IsEmpty());
  EXPECT_THAT(
      texts_of(newcomers(survey_with({{}, {5, 6}}), survey_with({{}, {7, 8, 5}}))),
      ElementsAre(
          "GPU 1 (Some GPU) WAS SHARED: 2 other processes started during the run, so its times are not reliable"));
}

TEST(Newcomers, AreOfTheGpusThatAreWatched) {
  EXPECT_THAT(newcomers({}, survey_with({{5}})), IsEmpty());
  GpuSurvey second_alone = survey_with({{}, {}});
  second_alone.gpus.erase(second_alone.gpus.begin());
  EXPECT_THAT(newcomers(second_alone, survey_with({{5}, {}})), IsEmpty());
  EXPECT_THAT(texts_of(newcomers(second_alone, survey_with({{}, {5}}))),
              ElementsAre(HasSubstr("GPU 1 (Some GPU) WAS SHARED")));
}

TEST(Newcomers, AreCountedWhereTheyAllGoByOneNumber) {
  EXPECT_THAT(texts_of(newcomers(survey_with({{0}}), survey_with({{0, 0}}))),
              ElementsAre(HasSubstr("1 other process started during the run")));
}

TEST(ContentionMonitor, AreNotLookedForInAMoment) { EXPECT_THAT(ContentionMonitor({}, 1).warnings(), IsEmpty()); }

// A process that does nothing but take a CPU, until it goes out of scope.
class BusyProcess {
 public:
  BusyProcess() : pid_(::fork()) {
    if (pid_ == 0) take_a_cpu();
  }
  ~BusyProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

 private:
  static void take_a_cpu() {
    ::alarm(60);
    volatile bool forever = true;
    while (forever) {
    }
  }

  pid_t pid_;
};

TEST(ContentionMonitor, AreSeenByTheTimeThatTheyTake) {
  const std::string before = cpu_counters();
  const ContentionMonitor bystanders({}, 1);
  const std::vector<BusyProcess> others(usable_cpus().size());
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  if (cpu_ticks_between(before, cpu_counters(), usable_cpus()).total == 0) GTEST_SKIP() << "no counters in /proc/stat";
  EXPECT_THAT(texts_of(bystanders.warnings()),
              Contains(MatchesRegex("THE CPU WAS SHARED: other work took [0-9]+ % of [0-9]+ "
                                    "usable CPUs? during the run")));
}

}  // namespace
}  // namespace rnnlab
