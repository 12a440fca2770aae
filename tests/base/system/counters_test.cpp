// SPDX-License-Identifier: Apache-2.0
#include "base/system/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/system/machine.h"
#include "base/system/temporary_folder.h"
#include "golden.h"

namespace rnnlab::testing {
namespace {

using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::Eq;
using ::testing::Field;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Optional;

double work() {
  volatile double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + 1;
  return sum;
}

TEST(EpochCounters, CountsWhatTheProcessDid) {
  EpochCounters counters;
  counters.start();
  work();
  const EpochMeasurements evidence = counters.stop();
  EXPECT_GT(evidence.cpu_seconds.value(), 0);
  EXPECT_GE(evidence.boot_seconds.value(), 0.5 * *evidence.cpu_seconds) << "one thread worked";
  EXPECT_THAT(evidence.voluntary_switches, Optional(Ge(0)));
  EXPECT_THAT(evidence.forced_switches, Optional(Ge(0)));
  EXPECT_EQ(evidence.gpu_joules, std::nullopt);
}

TEST(EpochCounters, IsReadFromItsLastStart) {
  EpochCounters counters;
  counters.start();
  work();
  const double whole = counters.stop().cpu_seconds.value();
  counters.start();
  EXPECT_LT(counters.stop().cpu_seconds.value(), whole);
}

// The counters of a machine with these files, one of which changes during the epoch.
class CountersOfFiles : public ::testing::Test {
 protected:
  using Files = std::vector<std::pair<std::string, std::string>>;

  EpochMeasurements measured(const Files& files, const std::string& last = "") const {
    for (const auto& [file, text] : files) write_text(root_.path() / file, text);
    EpochCounters counters("", root_.path());
    counters.start();
    if (!last.empty()) write_text(root_.path() / files.back().first, last);
    return counters.stop();
  }

 private:
  TemporaryFolder root_;
};

TEST_F(CountersOfFiles, ReportsTheTimeThatAHypervisorTook) {
  const auto measurements = measured({{"proc/cpuinfo", "processor : 0\nflags : fpu avx2 hypervisor\n"},
                                      {"proc/stat", "cpu  0 0 0 0 0 0 0 9 0 0\ncpu0 5 0 0 5 0 0 0 100 0 0\nintr 1\n"}},
                                     "cpu  0 0 0 0 0 0 0 9 0 0\ncpu0 5 0 0 5 0 0 0 150 0 0\nintr 1\n");
  EXPECT_THAT(measurements.steal_seconds, Optional(Eq(0.5))) << "at a hundred ticks a second";
}

TEST_F(CountersOfFiles, HaveNoStealTimeWithoutAHypervisor) {
  const auto measurements =
      measured({{"proc/cpuinfo", "processor : 0\nflags : fpu avx2\n"}, {"proc/stat", "cpu0 5 0 0 5 0 0 0 100 0 0\n"}});
  EXPECT_EQ(measurements.steal_seconds, std::nullopt);
}

TEST_F(CountersOfFiles, ReportsTheTimeThatAQuotaHeld) {
  const auto version_2 =
      measured({{"proc/self/cgroup", "0::/a\n"},
                {"sys/fs/cgroup/a/cpu.stat", "usage_usec 7\nnr_throttled 1\nthrottled_usec 250000\n"}},
               "usage_usec 9\nnr_throttled 3\nthrottled_usec 750000\n");
  EXPECT_THAT(version_2.throttled_seconds, Optional(Eq(0.5)));
  const auto version_1 =
      measured({{"proc/self/cgroup", "4:cpu,cpuacct:/a\n"},
                {"sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_time 250000000\n"}},
               "nr_periods 9\nnr_throttled 4\nthrottled_time 1250000000\n");
  EXPECT_THAT(version_1.throttled_seconds, Optional(Eq(1.0)));
}

TEST_F(CountersOfFiles, HaveNoThrottledTimeWithoutAQuota) {
  const auto measurements = measured({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.stat", "usage_usec 7\n"}});
  EXPECT_EQ(measurements.throttled_seconds, std::nullopt);
}

TEST(StealSeconds, AreOfTheCpusGiven) {
  const char* counters = "cpu 1 1 1 1 1 1 1 99 1 1\ncpu0 1 1 1 1 1 1 1 10 1 1\ncpu1 1 1 1 1 1 1 1 20 1 1\nintr 4\n";
  EXPECT_DOUBLE_EQ(steal_seconds_in(counters, {0}, 100), 0.1);
  EXPECT_DOUBLE_EQ(steal_seconds_in(counters, {0, 1}, 100), 0.3);
  EXPECT_DOUBLE_EQ(steal_seconds_in("", {0}, 100), 0);
}

// ---- energy ----

class CpuEnergyOfFiles : public ::testing::Test {
 protected:
  void write(const std::string& zone, const std::string& file, const std::string& text) const {
    const auto folder = root_.path() / "sys/class/powercap" / zone;
    std::filesystem::create_directories(folder);
    write_text(folder / file, text + "\n");
  }
  void add_zone(const std::string& zone, const std::string& name, const std::string& energy) const {
    write(zone, "name", name);
    write(zone, "max_energy_range_uj", "262143328850");
    write(zone, "energy_uj", energy);
  }

  TemporaryFolder root_;
};

TEST_F(CpuEnergyOfFiles, IsThatOfAllPackages) {
  add_zone("intel-rapl:0", "package-0", "1000000");
  add_zone("intel-rapl:1", "package-1", "5000000");
  add_zone("intel-rapl:0:0", "core", "9");
  add_zone("intel-rapl:2", "psys", "9");
  CpuEnergy energy(root_.path());
  energy.start();
  write("intel-rapl:0", "energy_uj", "3500000");
  write("intel-rapl:1", "energy_uj", "6000000");
  write("intel-rapl:0:0", "energy_uj", "99999999");
  EXPECT_THAT(energy.joules(), Optional(DoubleEq(3.5)));
}

TEST_F(CpuEnergyOfFiles, IsRightIfACounterBeginsAgain) {
  add_zone("intel-rapl:0", "package-0", "262142328850");
  CpuEnergy energy(root_.path());
  energy.start();
  write("intel-rapl:0", "energy_uj", "2000000");
  EXPECT_THAT(energy.joules(), Optional(DoubleEq(3)));
}

TEST_F(CpuEnergyOfFiles, IsNothingIfItCannotBeRead) {
  EXPECT_EQ(CpuEnergy(root_.path()).joules(), std::nullopt);
  write("intel-rapl:0", "name", "package-0");
  CpuEnergy energy(root_.path());
  energy.start();
  EXPECT_EQ(energy.joules(), std::nullopt);
}

// ---- other processes ----

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

TEST(ForeignCpuShare, IsTheTimeThatThisProcessDidNotUse) {
  const char* before = "cpu0 100 0 0 100 0 0 0 0\ncpu1 0 0 0 200 0 0 0 0\n";
  const char* after = "cpu0 200 0 0 100 0 0 0 0\ncpu1 60 0 0 240 0 0 0 0\n";
  EXPECT_DOUBLE_EQ(foreign_cpu_share(before, after, {0, 1}, 1.0, 100), 0.3);
  EXPECT_DOUBLE_EQ(foreign_cpu_share(before, after, {0, 1}, 1.6, 100), 0);
  EXPECT_DOUBLE_EQ(foreign_cpu_share(before, after, {0, 1}, 1.8, 100), 0) << "the counters are coarse";
  EXPECT_DOUBLE_EQ(foreign_cpu_share(before, before, {0, 1}, 0, 100), 0);
}

TEST(NewGpuProcesses, AreThoseThatTheFirstSurveyDoesNotHave) {
  EXPECT_THAT(new_gpu_processes(survey_with({{5, 7}}), survey_with({{7, 5}})), IsEmpty());
  EXPECT_THAT(new_gpu_processes(survey_with({{5, 7}}), survey_with({{7}})), IsEmpty());
  expect_golden(texts_of(new_gpu_processes(survey_with({{}, {5, 6}}), survey_with({{}, {7, 8, 5}}))));
}

TEST(NewGpuProcesses, AreOfTheWatchedGpus) {
  EXPECT_THAT(new_gpu_processes({}, survey_with({{5}})), IsEmpty());
  GpuSurvey second_alone = survey_with({{}, {}});
  second_alone.gpus.erase(second_alone.gpus.begin());
  EXPECT_THAT(new_gpu_processes(second_alone, survey_with({{5}, {}})), IsEmpty());
  expect_golden(texts_of(new_gpu_processes(second_alone, survey_with({{}, {5}}))));
}

TEST(NewGpuProcesses, AreCountedIfAllHaveOneId) {
  expect_golden(texts_of(new_gpu_processes(survey_with({{0}}), survey_with({{0, 0}}))));
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
  EXPECT_THAT(bystanders.warnings(), Contains(Field(&Warning::kind, warning::kCpuShared)));
}

}  // namespace
}  // namespace rnnlab::testing
