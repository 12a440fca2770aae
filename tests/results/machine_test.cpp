#include "results/machine.h"

#include <gtest/gtest.h>

#include <map>

#include "results/temporary_folder.h"

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
