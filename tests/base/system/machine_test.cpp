// SPDX-License-Identifier: Apache-2.0
#include "base/system/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"

namespace rnnlab {
namespace {

TEST(ParseCpuinfo, CountsCoresAndHyperThreads) {
  std::string text;
  for (int cpu = 0; cpu < 4; ++cpu)
    text += "processor\t: " + std::to_string(cpu) +
            "\nmodel name\t: Some CPU: fast\nphysical id\t: 0\ncore id\t\t: " + std::to_string(cpu / 2) +
            "\nflags\t\t: fpu sse2 avx2 avx512f fma amx_bf16\n\n";
  const CpuInfo cpu = parse_cpuinfo(text);
  EXPECT_EQ(cpu.model, "Some CPU: fast");
  EXPECT_EQ(cpu.logical_cpus, 4);
  EXPECT_EQ(cpu.cores, 2);
  EXPECT_EQ(cpu.vector_flags, (std::vector<std::string>{"avx2", "avx512f", "fma", "amx_bf16"}));
}

TEST(ParseCpuinfo, TakesWhatItFinds) {
  EXPECT_EQ(parse_cpuinfo("").model, "");
  EXPECT_EQ(parse_cpuinfo("processor : 0\nprocessor : 1\n").cores, 2);
}

// Folders as those of Linux, with these files.
std::filesystem::path root_with(const testing::TemporaryFolder& folder,
                                const std::map<std::string, std::string>& files) {
  for (const auto& [name, text] : files) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    testing::write_text(folder.path() / name, text);
  }
  return folder.path();
}

TEST(FrequencyPolicy, IsTheGovernorWithoutOrWithBoost) {
  const std::string governor = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
  const testing::TemporaryFolder none, plain, amd, intel;
  EXPECT_EQ(frequency_policy(root_with(none, {})), "");
  EXPECT_EQ(frequency_policy(root_with(plain, {{governor, "performance\n"}})), "performance");
  EXPECT_EQ(
      frequency_policy(root_with(amd, {{governor, "schedutil\n"}, {"sys/devices/system/cpu/cpufreq/boost", "0\n"}})),
      "schedutil without boost");
  EXPECT_EQ(frequency_policy(
                root_with(intel, {{governor, "powersave\n"}, {"sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"}})),
            "powersave without boost");
}

TEST(NumCores, CountsTheCoresWhoseThreadsAreUsed) {
  const std::string cpu = "sys/devices/system/cpu/cpu", file = "/topology/thread_siblings_list";
  const testing::TemporaryFolder folder;
  const auto root =
      root_with(folder, {{cpu + "0" + file, "0,2\n"}, {cpu + "1" + file, "1,3\n"}, {cpu + "2" + file, "0,2\n"}});
  EXPECT_EQ(num_cores({0, 1}, root), 2);
  EXPECT_EQ(num_cores({0, 2}, root), 1) << "two threads of one core";
  EXPECT_EQ(num_cores({0, 9}, root), std::nullopt) << "the system does not tell";
}

TEST(HugePages, AreTheChoiceInBrackets) {
  const testing::TemporaryFolder none, chosen;
  EXPECT_EQ(huge_pages(root_with(none, {})), "");
  EXPECT_EQ(huge_pages(root_with(chosen, {{"sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"}})),
            "madvise");
}

TEST(BusyFraction, LooksOnlyAtTheCpusGiven) {
  const char* before = "cpu 9 9 9 9\ncpu0 100 0 0 100 0 0 0 0\ncpu1 0 0 0 200 0 0 0 0\n";
  const char* after = "cpu 9 9 9 9\ncpu0 103 0 2 105 0 0 0 0\ncpu1 0 0 0 208 2 0 0 0\nintr 1\n";
  EXPECT_DOUBLE_EQ(busy_fraction_between(before, after, {0}), 0.5);
  EXPECT_DOUBLE_EQ(busy_fraction_between(before, after, {0, 1}), 0.25);
  EXPECT_DOUBLE_EQ(busy_fraction_between(before, after, {1}), 0);
  EXPECT_DOUBLE_EQ(busy_fraction_between("", after, {0}), 0);
}

TEST(Disturbance, IsMeasuredByTheCpusThatARunNeeds) {
  EXPECT_TRUE(disturbs(0.24, 2, 2));
  EXPECT_TRUE(disturbs(0.24, 64, 64)) << "fifteen of them";
  EXPECT_FALSE(disturbs(0.05, 64, 64));
  EXPECT_TRUE(disturbs(0.05, 64, 2)) << "as many as the run needs";
  EXPECT_FALSE(disturbs(0.1, 2, 1)) << "what a quiet system does";
  EXPECT_TRUE(disturbs(1, 1, 4096)) << "more threads than CPUs need no more than all";
}

TEST(NumberList, IsAsASchedulerTakesIt) {
  EXPECT_EQ(number_list({}), "");
  EXPECT_EQ(number_list({3}), "3");
  EXPECT_EQ(number_list({3, 17, 18, 19, 23, 24}), "3,17-19,23-24");
}

TEST(NumberList, IsReadAgain) {
  EXPECT_EQ(numbers_in_list("3,17-19,23"), (std::vector<int64_t>{3, 17, 18, 19, 23}));
  for (const char* text : {"", "x", "1-x", "-", "5-1", "0-9223372036854775807"})
    EXPECT_TRUE(numbers_in_list(text).empty()) << text;
}

TEST(CpuInfo, NamesTheUsableCpus) {
  const CpuInfo cpu = cpu_info();
  EXPECT_EQ(std::ssize(numbers_in_list(cpu.usable_list)), cpu.usable_cpus);
}

}  // namespace
}  // namespace rnnlab

namespace rnnlab::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr const char* kId = "3d1219c7c4c5404aaa1f6d2a48adfda4";

TEST(MachineId, IsAHashThatDoesNotHoldTheSystemsOwn) {
  const TemporaryFolder root;
  write_text(root.path() / "etc/machine-id", std::string(kId) + "\n");
  const std::string id = machine_id(root.path());
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(std::string(kId), Not(HasSubstr(id)));
  EXPECT_EQ(machine_id(root.path()), id);
}

TEST(MachineId, DiffersBetweenMachines) {
  const TemporaryFolder one, other, same_image;
  write_text(one.path() / "etc/machine-id", kId);
  write_text(other.path() / "etc/machine-id", "b");
  write_text(same_image.path() / "etc/machine-id", kId);
  write_text(same_image.path() / "sys/class/dmi/id/product_name", "A Server");
  EXPECT_NE(machine_id(one.path()), machine_id(other.path()));
  EXPECT_NE(machine_id(one.path()), machine_id(same_image.path()));
}

TEST(MachineId, DoesNotDependOnWhoAsks) {
  const TemporaryFolder user, root;
  for (const auto* folder : {&user, &root}) write_text(folder->path() / "etc/machine-id", kId);
  write_text(root.path() / "sys/class/dmi/id/product_uuid", "of root alone");
  EXPECT_EQ(machine_id(user.path()), machine_id(root.path()));
}

TEST(MachineId, IsNothingIfTheSystemHasNone) {
  const TemporaryFolder root;
  EXPECT_EQ(machine_id(root.path()), "");
  write_text(root.path() / "etc/machine-id", "uninitialized\n");
  EXPECT_EQ(machine_id(root.path()), "");
}

}  // namespace
}  // namespace rnnlab::testing

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryFolder;
using testing::write_text;

// A root of a file system with what the kernel shows of cgroups there.
class Cgroups : public ::testing::Test {
 protected:
  void be_in(const std::string& lines) const { write_text(root_.path() / "proc/self/cgroup", lines); }
  void make(const std::string& folder) const { std::filesystem::create_directories(group(folder)); }
  std::filesystem::path group(const std::string& folder) const { return root_.path() / "sys/fs/cgroup" / folder; }
  const std::filesystem::path& root() const { return root_.path(); }

 private:
  TemporaryFolder root_;
};

TEST_F(Cgroups, OfVersion2AreTheProcesssOwnAndThoseAroundIt) {
  be_in("0::/user.slice/run.scope\n");
  make("user.slice/run.scope");
  EXPECT_THAT(cgroup_v2_folders(root()),
              ElementsAre(group("user.slice/run.scope"), group("user.slice"), root() / "sys/fs/cgroup"));
  EXPECT_THAT(cgroup_v1_folders("memory", root()), IsEmpty());
}

TEST_F(Cgroups, OfVersion1AreThoseOfTheController) {
  be_in("5:cpu,cpuacct:/batch\n4:memory:/batch/job\n");
  make("memory/batch/job");
  make("cpu/batch");
  EXPECT_THAT(cgroup_v1_folders("memory", root()),
              ElementsAre(group("memory/batch/job"), group("memory/batch"), group("memory")));
  EXPECT_THAT(cgroup_v1_folders("cpu", root()), ElementsAre(group("cpu/batch"), group("cpu")));
  EXPECT_THAT(cgroup_v2_folders(root()), IsEmpty());
}

TEST_F(Cgroups, OfBothVersionsAreInOneTree) {
  be_in("4:memory:/batch\n0::/batch\n");
  make("memory/batch");
  make("unified/batch");
  EXPECT_THAT(cgroup_v2_folders(root()), ElementsAre(group("unified/batch"), group("unified")));
}

// The path is the host's, while the container sees its own part of the tree at the top.
TEST_F(Cgroups, OfAContainerAreWhatItSees) {
  be_in("4:memory:/docker/3f2a\n");
  make("memory");
  EXPECT_THAT(cgroup_v1_folders("memory", root()), ElementsAre(group("memory")));
  be_in("0::/../3f2a\n");
  make("unified");
  EXPECT_THAT(cgroup_v2_folders(root()), ElementsAre(group("unified")));
}

TEST_F(Cgroups, AreMissingWithoutTheKernelsFiles) {
  EXPECT_THAT(cgroup_v2_folders(root()), IsEmpty());
  be_in("no line of the kernel\n");
  EXPECT_THAT(cgroup_v2_folders(root()), IsEmpty());
}

TEST_F(Cgroups, HaveNumbersOrNone) {
  write_text(group("memory.max"), "4096\n");
  write_text(group("memory.swap.max"), "max\n");
  EXPECT_EQ(cgroup_number(group("memory.max")), 4096);
  EXPECT_EQ(cgroup_number(group("memory.swap.max")), std::nullopt);
  EXPECT_EQ(cgroup_number(group("missing")), std::nullopt);
}

}  // namespace
namespace {

using testing::TemporaryFolder;
using testing::write_text;

class CpuLimits : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const { write_text(root_.path() / file, text); }
  int64_t allowed() const { return allowed_cpus(root_.path()); }

  const int64_t usable_ = static_cast<int64_t>(usable_cpus().size());
  TemporaryFolder root_;
};

TEST_F(CpuLimits, AreTheCpusThatTheProcessMayRunOn) { EXPECT_EQ(allowed(), usable_); }

TEST_F(CpuLimits, AreNoMoreThanAQuotaLastsFor) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(allowed(), 1) << "of the group around this one";
}

TEST_F(CpuLimits, AreAtLeastOne) {
  write("proc/self/cgroup", "0::/a\n");
  write("sys/fs/cgroup/a/cpu.max", "20000 100000\n");
  EXPECT_EQ(allowed(), 1);
}

TEST_F(CpuLimits, AreReadInVersion1Too) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/a\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(allowed(), 1) << "rounded down";
}

TEST_F(CpuLimits, AreNotLoweredByAMissingQuota) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/a\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/a/cpu.max", "no numbers\n");
  EXPECT_EQ(allowed(), usable_);
}

TEST_F(CpuLimits, TellTheQuotaAsItIs) {
  EXPECT_EQ(cpu_quota(root_.path()), std::nullopt);
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/a/b/cpu.max", "40000 100000\n");
  EXPECT_EQ(cpu_quota(root_.path()), 0.4) << "the least of the groups around this process";
}

}  // namespace
namespace {

using testing::expect_error;
using testing::TemporaryFolder;
using testing::write_text;

constexpr int64_t kGiB = int64_t{1} << 30;

// A machine of 8 GiB and 1 GiB of swap, of which 3 GiB are free.
class MemoryLimitsOfAMachine : public ::testing::Test {
 protected:
  MemoryLimitsOfAMachine() {
    write_text(root_.path() / "proc/meminfo",
               "MemTotal:        8388608 kB\nMemFree:  77 kB\nMemAvailable:    3145728 kB\nHugePages_Total:       0\n"
               "SwapTotal:       1048576 kB\n");
  }

  void write(const std::string& file, const std::string& text) const { write_text(root_.path() / file, text); }
  std::string group(const std::string& folder) const { return (root_.path() / "sys/fs/cgroup" / folder).string(); }

  std::optional<int64_t> limit_of(const std::string& name) const {
    for (const MemoryLimit& limit : memory_limits(root_.path()).hard)
      if (limit.name == name) return limit.bytes;
    return std::nullopt;
  }

  std::optional<int64_t> swap_of(const std::string& name) const {
    for (const MemoryLimit& limit : memory_limits(root_.path()).hard)
      if (limit.name == name) return limit.swap;
    return std::nullopt;
  }

  TemporaryFolder root_;
};

TEST_F(MemoryLimitsOfAMachine, AreItsMemoryAndSwap) {
  const MemoryLimit memory = memory_limits(root_.path()).hard.at(0);
  EXPECT_EQ(memory.bytes, 9 * kGiB);
  EXPECT_EQ(memory.swap, kGiB);
  EXPECT_EQ(memory_limits(root_.path()).available, 3 * kGiB);
}

TEST_F(MemoryLimitsOfAMachine, AreThoseOfEveryCgroupAroundTheProcess) {
  write("proc/self/cgroup", "0::/batch/job\n");
  write("sys/fs/cgroup/batch/job/memory.max", "max\n");
  write("sys/fs/cgroup/batch/memory.max", "2147483648\n");
  EXPECT_EQ(limit_of("memory.max in " + group("batch")), 3 * kGiB) << "with all of the swap";
  EXPECT_EQ(swap_of("memory.max in " + group("batch")), kGiB);
  EXPECT_EQ(limit_of("memory.max in " + group("batch/job")), std::nullopt);
  write("sys/fs/cgroup/batch/memory.swap.max", "0\n");
  EXPECT_EQ(limit_of("memory.max in " + group("batch")), 2 * kGiB);
}

TEST_F(MemoryLimitsOfAMachine, AreThoseOfVersion1) {
  write("proc/self/cgroup", "4:memory:/batch\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(limit_of("memory.limit_in_bytes in " + group("memory/batch")), 3 * kGiB);
  EXPECT_EQ(limit_of("memory.limit_in_bytes in " + group("memory")), std::numeric_limits<int64_t>::max());
  write("sys/fs/cgroup/memory/batch/memory.memsw.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(limit_of("memory.limit_in_bytes in " + group("memory/batch")), 2 * kGiB);
  EXPECT_EQ(swap_of("memory.limit_in_bytes in " + group("memory/batch")), 0);
}

// Pages of files do not count, because the kernel frees them.
TEST_F(MemoryLimitsOfAMachine, HaveWhatIsFreeInEveryCgroup) {
  const auto available = [&] { return memory_limits(root_.path()).available; };
  write("proc/self/cgroup", "0::/batch/job\n");
  write("sys/fs/cgroup/batch/job/memory.max", "max\n");
  write("sys/fs/cgroup/batch/memory.max", "2147483648\n");
  EXPECT_EQ(available(), 3 * kGiB) << "nobody knows what the group uses";
  write("sys/fs/cgroup/batch/memory.current", "1610612736\n");
  EXPECT_EQ(available(), kGiB / 2);
  write("sys/fs/cgroup/batch/memory.stat", "anon 5\nactive_file 134217728\ninactive_file 134217728\n");
  EXPECT_EQ(available(), 3 * kGiB / 4);
  write("sys/fs/cgroup/batch/job/memory.max", "1048576\n");
  write("sys/fs/cgroup/batch/job/memory.current", "2097152\n");
  EXPECT_EQ(available(), 0) << "above its limit";
}

TEST_F(MemoryLimitsOfAMachine, HaveWhatIsFreeInVersion1) {
  write("proc/self/cgroup", "4:memory:/batch\n");
  write("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "2147483648\n");
  write("sys/fs/cgroup/memory/batch/memory.usage_in_bytes", "1610612736\n");
  write("sys/fs/cgroup/memory/batch/memory.stat", "inactive_file 7\ntotal_inactive_file 536870912\n");
  EXPECT_EQ(memory_limits(root_.path()).available, kGiB);
}

TEST_F(MemoryLimitsOfAMachine, AreTheUlimits) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit wanted{rlim_t{1} << 45, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &wanted), 0);
  EXPECT_EQ(limit_of("ulimit -d"), int64_t{1} << 45);
  ::setrlimit(RLIMIT_DATA, &before);
}

TEST(MemoryLimits, AreEmptyIfNothingCanBeRead) {
  const TemporaryFolder nothing;
  EXPECT_FALSE(memory_limits(nothing.path()).available);
}

TEST(RequireMemory, RefusesWhatIsBeyondTheSmallestLimit) {
  const MemoryLimits limits{.hard = {{8 * kGiB, "the memory of this machine"}, {4 * kGiB, "ulimit -v"}},
                            .available = 2 * kGiB};
  EXPECT_NO_THROW(require_memory(4 * kGiB, "x: this needs", "use less", limits));
  expect_error(ExitCode::kDevice, [&] { require_memory(5 * kGiB, "x: this needs", "use less", limits); });
  EXPECT_NO_THROW(require_memory(5 * kGiB, "x: this needs", "use less", {}));
}

TEST(RequireMemory, SaysHowMuchOfALimitIsSwap) {
  const MemoryLimits limits{.hard = {{9 * kGiB, "the memory of this machine", kGiB}}, .available = kGiB};
  expect_error(ExitCode::kDevice, [&] { require_memory(10 * kGiB, "x: this needs", "use less", limits); });
}

TEST(MemoryWarning, IsOfWhatIsFree) {
  const MemoryLimits limits{.hard = {}, .available = 2 * kGiB};
  EXPECT_EQ(memory_warning(2 * kGiB, "x: this needs", "use less", limits), std::nullopt);
  expect_golden(memory_warning(3 * kGiB, "x: this needs", "use less", limits));
}

}  // namespace
}  // namespace rnnlab
