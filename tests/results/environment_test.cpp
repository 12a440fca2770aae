// SPDX-License-Identifier: Apache-2.0
#include "results/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/conditions.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

Environment quiet_environment() { return sample_run("cpu", "naive", 1, {}).environment; }

GpuInfo sample_gpu() {
  GpuInfo gpu;
  gpu.name = "NVIDIA H200";
  gpu.sm_clock_mhz = 1200;
  gpu.max_sm_clock_mhz = 1980;
  return gpu;
}

TEST(CollectEnvironment, FindsThisMachine) {
  const Environment environment =
      collect_environment({"rnnlab", "info"}, 2,
                          {.versions = {.rnnlab = "0.1.0", .libtorch = "2.11.0", .cuda = "", .cudnn = ""},
                           .instruction_sets = {.aten = "AVX2", .onednn = "", .mkl = ""}});
  EXPECT_EQ(environment.command_line, (std::vector<std::string>{"rnnlab", "info"}));
  EXPECT_GE(environment.cpu.usable_cpus, 1);
  EXPECT_GE(environment.cpu.logical_cpus, environment.cpu.usable_cpus);
  EXPECT_EQ(environment.cpu.load_average.size(), 3u);
  EXPECT_GT(environment.host.memory_bytes, int64_t{1} << 28);
  EXPECT_FALSE(environment.host.os.empty());
  EXPECT_TRUE(environment.host.kernel.starts_with("Linux "));
  EXPECT_EQ(environment.start_time.size(), std::string("2026-11-21T02:59:51Z").size());
  EXPECT_EQ(environment.software.libtorch, "2.11.0");
  EXPECT_EQ(environment.instruction_sets.aten, "AVX2");
  EXPECT_FALSE(environment.cpu.quota.empty());
  EXPECT_GT(environment.host.usable_memory_bytes, 0);
  EXPECT_TRUE(environment.variables.has_value());
}

TEST(EnvironmentFile, ReadsBack) {
  const TemporaryFolder folder;
  Environment environment = collect_environment({"rnnlab"}, 2, {});
  environment.nvidia.gpus = {sample_gpu()};
  environment.nvidia.gpus[0].compute_pids = {12, 34};
  environment.variables = Variables{{"OMP_PROC_BIND", "true"}};
  write_environment(folder.path(), environment);
  const Environment read = read_environment(folder.path());
  EXPECT_EQ(read.cpu.vector_flags, environment.cpu.vector_flags);
  EXPECT_EQ(read.nvidia.gpus.at(0).compute_pids, (std::vector<int64_t>{12, 34}));
  EXPECT_EQ(read.build.git_revision, environment.build.git_revision);
  EXPECT_EQ(conditions_of(read), conditions_of(environment));
  write_environment(folder.path(), read);
  EXPECT_EQ(read_environment(folder.path()).start_time, environment.start_time);
}

TEST(EnvironmentFile, HasTheProcessesOfARunThatSeveralTrain) {
  const TemporaryFolder folder;
  Environment environment = collect_environment({"rnnlab"}, 2, {});
  const auto text_and_back = [&] {
    write_environment(folder.path(), environment);
    return std::pair(read_text(folder.path() / "environment.json"), read_environment(folder.path()).ranks);
  };
  const auto [alone, no_ranks] = text_and_back();
  EXPECT_EQ(alone.find("\"ranks\""), std::string::npos);
  EXPECT_FALSE(no_ranks);
  environment.ranks = RanksInfo{.num_processes = 4, .num_hosts = 2, .exchange = "gloo"};
  EXPECT_EQ(text_and_back().second, environment.ranks);
}

Environment environment_on(const std::string& host, const std::string& gpu, const std::string& uuid) {
  Environment environment = quiet_environment();
  environment.host.hostname = host;
  environment.nvidia.gpus = {sample_gpu()};
  environment.nvidia.gpus[0].name = gpu;
  environment.nvidia.gpus[0].uuid = uuid;
  environment.used_gpus = uuid;
  return environment;
}

std::vector<std::string> described(const std::vector<Environment>& environments) {
  std::vector<std::string> texts;
  for (const Environment& one : environments) texts.push_back(text_of(describe_rank(one)));
  return texts;
}

TEST(RecordRanks, DescribesTheMachineOfEach) {
  const TemporaryFolder folder;
  Environment first = environment_on("node1", "NVIDIA H200", "GPU-1");
  record_ranks(first, described({first, environment_on("node2", "NVIDIA H200", "GPU-2")}), "nccl");
  write_environment(folder.path(), first);
  const Environment read = read_environment(folder.path());
  EXPECT_EQ(read.ranks, first.ranks);
  EXPECT_EQ(read.used_gpus, "GPU-1,GPU-2");
  EXPECT_EQ(read.ranks->num_hosts, 2);
  EXPECT_EQ(read.ranks->each[1].host, "node2");
  EXPECT_EQ(processors_of(*read.ranks), std::vector<std::string>{"NVIDIA H200"});
  EXPECT_TRUE(warnings(read).empty());
}

TEST(RecordRanks, WarnsOfUnequalProcessors) {
  Environment first = environment_on("node1", "NVIDIA H200", "GPU-1");
  record_ranks(first, described({first, environment_on("node2", "NVIDIA T4", "GPU-2")}), "nccl");
  ASSERT_EQ(warnings(first).size(), 1u);
  EXPECT_EQ(warnings(first)[0].kind, warning::kUnequalProcessors);
  expect_golden(warnings(first)[0].text);
}

TEST(RecordRanks, WarnsOfEachOtherHostOnce) {
  Environment first = environment_on("node1", "NVIDIA H200", "GPU-1");
  Environment other = environment_on("node2", "NVIDIA H200", "GPU-2");
  other.nvidia.gpus[0].compute_pids = {41};
  record_ranks(first, described({first, first, other, other}), "nccl");
  expect_golden(texts_of(warnings(first)));
  EXPECT_EQ(warnings(first)[0].kind, warning::kGpuShared);
}

TEST(EnvironmentFile, NamesTheKeyThatIsWrong) {
  const TemporaryFolder folder;
  write_environment(folder.path(), quiet_environment());
  std::string text = read_text(folder.path() / "environment.json");
  const std::string number = "\"usable_cpus\": 2";
  write_text(folder.path() / "environment.json", text.replace(text.find(number), number.size(), "\"usable_cpus\": []"));
  expect_error(ExitCode::kData, [&] { read_environment(folder.path()); });
}

TEST(Warnings, AreNoneOnAQuietMachine) {
  Environment environment = quiet_environment();
  environment.nvidia.gpus = {sample_gpu()};
  EXPECT_TRUE(warnings(environment).empty());
}

TEST(Warnings, NameEverythingThatSpoilsTimes) {
  Environment environment = quiet_environment();
  environment.build.type = "Debug";
  environment.build.optimized = false;
  environment.build.assertions = true;
  environment.build.sanitizer = "AddressSanitizer";
  environment.cpu.busy_fraction = 0.6;
  environment.nvidia.gpus = {sample_gpu(), sample_gpu(), sample_gpu()};
  environment.nvidia.gpus[0].compute_pids = {41, 42};
  environment.nvidia.gpus[1].utilization_percent = 97;
  environment.nvidia.gpus[2].throttle_reasons = {"power cap"};
  expect_golden(texts_of(warnings(environment)));
}

TEST(Warnings, NameMoreThreadsThanCpus) {
  Environment environment = quiet_environment();
  environment.num_threads = 4096;
  environment.cpu.usable_cpus = 1;
  environment.cpu.busy_fraction = 1;
  expect_golden(texts_of(warnings(environment)));
}

TEST(Warnings, NameAQueueForTheCpus) {
  Environment environment = quiet_environment();
  environment.cpu.logical_cpus = 2;
  environment.cpu.load_average = {2.1, 60, 60};
  EXPECT_TRUE(warnings(environment).empty()) << "a run of all CPUs leaves that behind";
  environment.cpu.load_average[0] = 60;
  expect_golden(texts_of(warnings(environment)));
}

TEST(BuildInfo, KnowsThisBuild) {
  const BuildInfo build = build_info();
#ifdef __OPTIMIZE__
  EXPECT_TRUE(build.optimized);
#else
  EXPECT_FALSE(build.optimized);
#endif
  EXPECT_FALSE(build.type.empty());
  EXPECT_TRUE(build.compiler.starts_with("gcc ") || build.compiler.starts_with("clang ")) << build.compiler;
  EXPECT_TRUE(build.git_revision.size() == 40 || build.git_revision == "unknown") << build.git_revision;
}

TEST(BuildKind, IsThePlainTypeForAReleaseBuild) {
  EXPECT_EQ(build_kind(quiet_environment().build), "Release");
  EXPECT_FALSE(build_warning(quiet_environment().build).has_value());
}

TEST(GpuModel, CountsEqualOnes) {
  GpuSurvey survey;
  EXPECT_EQ(gpu_model(survey), "");
  survey.gpus = {sample_gpu()};
  EXPECT_EQ(gpu_model(survey), "NVIDIA H200");
  survey.gpus.push_back(sample_gpu());
  EXPECT_EQ(gpu_model(survey), "2 x NVIDIA H200");
}

TEST(ModelOfOneGpu, IsCertainWhereAllAreAlike) {
  GpuSurvey survey;
  survey.gpus = {sample_gpu(), sample_gpu()};
  EXPECT_EQ(model_of_one_gpu(survey), "NVIDIA H200");
  survey.gpus[1].name = "NVIDIA T4";
  EXPECT_EQ(model_of_one_gpu(survey), "NVIDIA H200 or NVIDIA T4");
}

}  // namespace
}  // namespace rnnlab::testing

namespace rnnlab {
namespace {

TEST(KernelVariables, AreThoseOfTheLibrariesAndNoOthers) {
  const char* environment[] = {"OMP_PROC_BIND=true", "HOME=/home/me",  "PATH=/bin", "MY_OMP_X=1",
                               "MALLOC_ARENA_MAX=1", "no equals sign", nullptr};
  EXPECT_EQ(kernel_variables(environment), (Variables{{"MALLOC_ARENA_MAX", "1"}, {"OMP_PROC_BIND", "true"}}));
}

TEST(KernelVariables, NameNobodysFolders) {
  const char* environment[] = {"LD_PRELOAD=/home/me/libclock.so:/home/me/b c/libother.so", "CUDA_HOME=/home/me/cuda/",
                               nullptr};
  EXPECT_EQ(kernel_variables(environment),
            (Variables{{"CUDA_HOME", "cuda"}, {"LD_PRELOAD", "libclock.so:b libother.so"}}));
}

TEST(KernelVariables, LeaveSecretsOut) {
  const char* environment[] = {"NVIDIA_API_KEY=1234", "TORCH_HUB_TOKEN=1234", nullptr};
  EXPECT_EQ(kernel_variables(environment), Variables());
}

TEST(KernelVariables, ChangeKernelsUnlessTheyAreKnownNotTo) {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "MKL_CBWR", "NVIDIA_TF32_OVERRIDE", "OMP_WAIT_POLICY", "LD_PRELOAD",
                           "GLIBC_TUNABLES", "XLA_FLAGS"})
    EXPECT_TRUE(changes_kernels(name)) << name;
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "NCCL_DEBUG", "PYTORCH_VERSION"})
    EXPECT_FALSE(changes_kernels(name)) << name;
}

TEST(DifferingVariables, AreNamedFromEachSide) {
  const Variables one = {{"MKL_CBWR", "AVX2"}, {"OMP_NUM_THREADS", "2"}, {"OMP_PROC_BIND", "true"}};
  const Variables other = {{"KMP_BLOCKTIME", "0"}, {"OMP_NUM_THREADS", "4"}, {"OMP_PROC_BIND", "true"}};
  expect_golden(differing_variables(one, other));
  expect_golden(differing_variables(other, one));
  EXPECT_EQ(differing_neutral_variables(one, other), "OMP_NUM_THREADS=2");
  EXPECT_EQ(differing_variables(one, one), "");
}

}  // namespace
namespace {

using ::testing::IsEmpty;

// Returns whether `holds` returns true in a separate process, which may change its own state.
bool in_a_copy(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ProcessFacts, HaveTheNiceValue) {
  EXPECT_TRUE(in_a_copy([] { return ::setpriority(PRIO_PROCESS, 0, 19) == 0 && process_facts().nice == 19; }));
}

TEST(ProcessFacts, ReportFixedAddresses) {
  const bool is_allowed = in_a_copy([] { return ::personality(ADDR_NO_RANDOMIZE) != -1; });
  if (!is_allowed) GTEST_SKIP() << "this container refuses personality()";
  EXPECT_TRUE(
      in_a_copy([] { return ::personality(ADDR_NO_RANDOMIZE) != -1 && !process_facts().has_random_addresses; }));
}

TEST(ProcessFacts, NameTheProgramAlike) {
  const std::string id = process_facts().program_id;
  EXPECT_EQ(id.size(), 16u);
  EXPECT_EQ(process_facts().program_id, id);
}

TEST(ProcessFacts, KnowATracer) {
  EXPECT_TRUE(is_traced_by("Name:\tx\nTracerPid:\t4711\nUid:\t0\n"));
  EXPECT_FALSE(is_traced_by("Name:\tx\nTracerPid:\t0\nUid:\t0\n"));
  EXPECT_FALSE(is_traced_by(""));
}

TEST(ProcessFacts, WarnOfWhatChangesTimes) {
  EXPECT_THAT(warnings(ProcessFacts()), IsEmpty());
  expect_golden(texts_of(warnings(ProcessFacts{.is_traced = true, .has_random_addresses = false})));
}

}  // namespace
}  // namespace rnnlab
