// SPDX-License-Identifier: Apache-2.0
#include "results/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "results/sample_runs.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kGibibyte = int64_t{1} << 30;

// Returns conditions without a missing value.
Conditions sample_conditions() {
  Environment environment = testing::sample_run("cpu", "naive", 1, {}).environment;
  environment.host.machine_id = "0123456789abcdef";
  environment.host.kernel = "Linux 6.1.0";
  environment.host.usable_memory_bytes = 16 * kGibibyte;
  environment.cpu.usable_cores = 2;
  environment.cpu.quota = "none";
  environment.cpu.vector_flags = {"avx2", "fma"};
  environment.cpu.frequency = "performance";
  environment.host.huge_pages = "madvise";
  environment.nvidia.driver_version = "580.1";
  environment.nvidia.gpus[0].power_limit_watts = 700;
  environment.process = ProcessFacts{.nice = 0, .program_id = "0123456789abcdef"};
  environment.instruction_sets = {.aten = "AVX2", .onednn = "Intel AVX2", .mkl = "AVX2 processors"};
  environment.variables = Variables{{"OMP_NUM_THREADS", "2"}};
  return conditions_of(environment);
}

std::string condition_text(const UnequalCondition& one) {
  const char* verb = one.on_unequal == OnUnequal::kRefuse ? "refused"
                     : one.on_unequal == OnUnequal::kWarn ? "warned"
                                                          : "noted";
  return std::string(verb) + ": " + one.what + ": " + one.first + " and " + one.second;
}

// Returns the differences between two sides, one of which was changed by `change`.
template <class Change>
std::vector<std::string> differences_after(Change change) {
  Conditions other = sample_conditions();
  change(other);
  std::vector<std::string> all;
  for (const UnequalCondition& one : unequal_conditions(sample_conditions(), other)) all.push_back(condition_text(one));
  return all;
}

TEST(Conditions, AreEqualToThemselves) {
  EXPECT_THAT(differences_after([](Conditions&) {}), IsEmpty());
}

TEST(Conditions, ThatChangeTimesAreRefused) {
  EXPECT_THAT(differences_after([](Conditions& c) { c.usable_cpus = 1; }),
              ElementsAre("refused: usable CPUs: 2 and 1"));
  EXPECT_THAT(differences_after([](Conditions& c) { c.usable_cores = 1; }),
              ElementsAre("refused: cores of these CPUs: 2 and 1"))
      << "two threads of one core";
  expect_golden(differences_after([](Conditions& c) { c.cpu_quota = "0.4 CPUs"; }));
  expect_golden(differences_after([](Conditions& c) { c.memory_bytes /= 2; }));
  expect_golden(differences_after([](Conditions& c) { c.cpu_flags = "avx2"; }));
  expect_golden(differences_after([](Conditions& c) { c.instruction_sets.onednn = "Intel SSE4.1"; }));
  expect_golden(differences_after([](Conditions& c) { c.cpu_frequency = "powersave without boost"; }));
  expect_golden(differences_after([](Conditions& c) { c.gpu_power_limit = "300 W"; }));
  EXPECT_THAT(differences_after([](Conditions& c) { c.driver = "580.2"; }),
              ElementsAre("refused: NVIDIA driver: 580.1 and 580.2"));
}

TEST(Conditions, NameEachVariableThatDiffers) {
  expect_golden(differences_after([](Conditions& c) {
    c.variables = Variables{{"MKL_CBWR", "AVX2"}, {"OMP_NUM_THREADS", "4"}};
  }));
}

TEST(Conditions, AnotherMachineAloneIsWarnedOf) {
  EXPECT_THAT(differences_after([](Conditions& c) { c.machine_id = "f"; }),
              ElementsAre("warned: machine: 0123456789abcdef and f"));
}

TEST(Conditions, OfTheSoftwareAreNoted) {
  expect_golden(differences_after([](Conditions& c) { c.kernel = "Linux 6.2.0"; }));
  expect_golden(differences_after([](Conditions& c) { c.sources += " with changes"; }));
}

TEST(Conditions, OfTheProcessAreNoted) {
  EXPECT_THAT(differences_after([](Conditions& c) { c.nice = 19; }), ElementsAre("noted: nice value: 0 and 19"));
  expect_golden(differences_after([](Conditions& c) { c.huge_pages = "always"; }));
}

TEST(Conditions, ReportAnotherProgramOfTheSameSources) {
  expect_golden(differences_after([](Conditions& c) { c.program_id = "f"; }));
  expect_golden(differences_after([](Conditions& c) {
    c.program_id = "f";
    c.sources = "b";
  }));
}

TEST(Conditions, ThatOneSideDidNotRecordAreNotHeldAgainstIt) {
  const auto forget = [](Conditions& c) {
    c.instruction_sets = {};
    c.variables.reset();
    c.cpu_quota.clear();
  };
  EXPECT_THAT(differences_after(forget), IsEmpty());
  Conditions old = sample_conditions();
  forget(old);
  EXPECT_THAT(unrecorded_conditions(sample_conditions(), old),
              ElementsAre("CPU quota", "instruction set of ATen", "instruction set of oneDNN", "instruction set of MKL",
                          "variables that change kernels"));
}

TEST(Conditions, TakeWhatAStartOfTheMachineFindsMoreForEqual) {
  EXPECT_THAT(differences_after([](Conditions& c) { c.memory_bytes += kGibibyte / 64; }), IsEmpty());
}

TEST(Conditions, MakeAnotherWorkWhereTheyMustBeEqual) {
  Conditions other = sample_conditions();
  other.machine_id = "another";
  EXPECT_TRUE(allow_comparison(sample_conditions(), other));
  other.cpu_quota = "";
  EXPECT_TRUE(allow_comparison(sample_conditions(), other)) << "it was not recorded";
  other.cpu_quota = "0.4 CPUs";
  EXPECT_FALSE(allow_comparison(sample_conditions(), other));
}

}  // namespace
}  // namespace rnnlab
