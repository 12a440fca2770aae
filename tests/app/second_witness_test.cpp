// SPDX-License-Identifier: Apache-2.0
// Changes the times of one side from outside of the program: each change is refused or causes a warning. The program is
// unchanged, but its environment is manipulated.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::ProgramResult;

// Some seconds of work on one CPU.
constexpr const char* kWorkYaml = R"(name: work
device: cpu
layer: naive
data: {source: digits, num_train: 800, num_valid: 0}
model: {hidden_size: 64}
training: {epochs: 5, batch_size: 50, num_threads: 1}
checkpoint: {save: false}
)";

class SecondWitness : public ::testing::Test {
 protected:
  SecondWitness() { program_.write("work.yaml", kWorkYaml); }

  ProgramResult train(const std::string& before = "", const std::string& overrides = "") const {
    const auto result = program_.run_in_shell(before + " \"$0\" train --quiet work.yaml " + overrides);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result;
  }
  ProgramResult compare() const { return program_.run({"compare", "--verbose", "runs/work"}); }
  std::string logs() const { return program_.run_in_shell("cat runs/work/*/train.log").output; }

  Program program_;
};

TEST_F(SecondWitness, AnInstructionSetThatIsTakenAwayIsRefused) {
  train();
  train("ONEDNN_MAX_CPU_ISA=SSE41", "layer=fused");
  const ProgramResult result = compare();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("variables that change kernels: no ONEDNN_MAX_CPU_ISA in cpu naive, "
                                       "ONEDNN_MAX_CPU_ISA=SSE41 in cpu fused"));
  EXPECT_THAT(result.errors, AllOf(HasSubstr("instruction set of oneDNN: "), HasSubstr(", Intel SSE4.1 in cpu fused")));
}

// oneDNN has no bfloat16 kernels there, and throws its own exception.
TEST_F(SecondWitness, ALayerOfPanelsTrainsOnAProcessorWithoutBfloat16) {
  train("ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI", "layer=blocked");
}

TEST_F(SecondWitness, ARedundantVariableIsRefused) {
  train();
  train("MALLOC_ARENA_MAX=1", "layer=fused");
  EXPECT_EQ(compare().exit_code, 2);
}

TEST_F(SecondWitness, AThreadNumberIsComparedByItsEffect) {
  train();
  train("OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES=0", "layer=fused");
  const ProgramResult result = compare();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("variables that change no kernel: no "));
}

TEST_F(SecondWitness, AChangedClockIsNamed) {
  train(fmt::format("LD_PRELOAD={}", RNNLAB_SLOW_CLOCK));
  EXPECT_THAT(logs(), AllOf(HasSubstr("another clock: epochs of "), HasSubstr("by the kernel's clock")));
  train("", "layer=fused");
  const ProgramResult result = compare();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors,
              HasSubstr("variables that change kernels: LD_PRELOAD=librnnlab_slow_clock.so in cpu naive"));
}

TEST_F(SecondWitness, AProcessThatIsStoppedTwoThirdsOfTheTimeIsNamed) {
  program_.run_in_shell(R"(
    "$0" train --quiet work.yaml & process=$!
    while kill -STOP $process 2>/dev/null; do sleep 0.02; kill -CONT $process; sleep 0.01; done
    wait $process)");
  EXPECT_THAT(logs(), HasSubstr("it waited: in epochs of "));
  EXPECT_THAT(compare().output, HasSubstr("it waited: in epochs of "));
}

// A group of its own with two fifths of a CPU, where this process may make one.
constexpr const char* kQuota = R"(
  group=/sys/fs/cgroup/cpu/rnnlab-test-$$
  mkdir $group 2>/dev/null && echo 40000 >$group/cpu.cfs_quota_us || exit 77
  (sh -c 'echo $PPID' >$group/cgroup.procs && exec "$0" train --quiet work.yaml layer=fused)
  rmdir $group)";

TEST_F(SecondWitness, AQuotaIsNamedAndRefused) {
  const ProgramResult held = program_.run_in_shell(kQuota);
  if (held.exit_code == 77) GTEST_SKIP() << "no control group can be made here";
  EXPECT_THAT(logs(), HasSubstr("throttled: a quota of its control group stopped its CPUs for "));
  train();
  const ProgramResult result = compare();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("CPU quota: 0.4 CPUs in cpu fused, none in cpu naive"));
}

TEST_F(SecondWitness, BoundThreadsAreNoThreadsTooMany) {
  EXPECT_THAT(train("OMP_PROC_BIND=true", "training.num_threads=null").errors, Not(HasSubstr("MORE THREADS")));
}

TEST_F(SecondWitness, FairListsTheEqualConditions) {
  train();
  train("", "layer=fused");
  const ProgramResult text = program_.run({"compare", "--fair", "runs/work"});
  EXPECT_THAT(text.output, AllOf(HasSubstr("Held equal:\n"), HasSubstr("instruction set of oneDNN"),
                                 HasSubstr("variables that change kernels"), Not(HasSubstr("Not held equal"))));
  EXPECT_THAT(program_.run({"compare", "--fair", "--json", "runs/work"}).output, HasSubstr("\"held_equal\": {"));
  EXPECT_THAT(compare().output, Not(HasSubstr("Held equal")));
}

}  // namespace
}  // namespace rnnlab
