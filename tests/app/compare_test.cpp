// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "app/program.h"
#include "base/text.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::Program;
using testing::with;
using testing::Words;

// Two runs of the tiny experiment that differ in `override`.
class Compare : public ::testing::Test {
 protected:
  Words two_runs(const std::string& override = "layer=naive") const {
    program_.run({"train", "tiny.yaml"}, 0);
    program_.run({"train", "tiny.yaml", override}, 0);
    return program_.run_folders("tiny");
  }
  testing::ProgramResult compare(const Words& arguments) const { return program_.run(with({"compare"}, arguments)); }

  const Program program_{kTinyYaml};
};

TEST_F(Compare, SetsLayersAgainstEachOther) {
  const auto folders = two_runs();
  const auto result = compare({folders[0], folders[1]});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("cpu fused"));
  EXPECT_THAT(result.output, HasSubstr("cpu naive"));
}

void expect_width(const std::string& table, size_t width) {
  for (const std::string& line : split(table, '\n')) EXPECT_LE(display_width(line), width) << line;
}

TEST_F(Compare, FitsTheTerminal) {
  if (!testing::has_pseudo_terminals()) GTEST_SKIP() << "no pseudo-terminals";
  two_runs();
  EXPECT_THAT(compare({"tiny"}).output, HasSubstr("seeds  processes  epochs "));
  const std::string shown = program_.run_on_terminal({"compare", "tiny"}, "xterm").output;
  EXPECT_THAT(shown, HasSubstr("\nin each row: seeds 1, "));
  const size_t tables = shown.find("run   ");
  expect_width(shown.substr(tables, shown.find("in each row") - tables), 80);
}

TEST_F(Compare, CountsARunThatIsNamedTwiceOnce) {
  const auto folders = two_runs();
  EXPECT_EQ(compare({folders[0], folders[1], folders[0] + "/."}).output, compare({folders[0], folders[1]}).output);
}

TEST_F(Compare, TakesAFolderOfRunsForAllThatHaveEnded) {
  const auto folders = two_runs();
  program_.write("runs/tiny/unfinished/epochs.csv", "");
  const auto result = compare({"runs/tiny"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, compare({folders[0], folders[1]}).output);
  expect_golden(result.errors);
}

// Runs of one second have folders that sort by layer, which is not the sweep's order.
TEST_F(Compare, MeasuresByTheSweepsFirstRunAsTrainDoes) {
  const std::string trained = program_.run({"train", "tiny.yaml", "sweep={layer: [naive, fused]}"}).output;
  EXPECT_EQ(compare({"runs/tiny"}).output, trained);
  const auto folders = program_.run_folders("tiny");  // sorted, as by a pattern
  EXPECT_EQ(compare({folders[0], folders[1]}).output, trained);
}

TEST_F(Compare, GivesAVerdictAfterFiveRounds) {
  const auto trained = program_.run({"train", "tiny.yaml", "sweep={layer: [naive, fused]}", "repeats=5"}, 0);
  EXPECT_THAT(trained.output, Not(HasSubstr("no verdict")));
  const auto compared = compare({"runs/tiny", "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.errors;
  const auto fused = nlohmann::json::parse(compared.output)["groups"][1];
  EXPECT_EQ(fused["label"], "cpu fused");
  EXPECT_EQ(fused["num_processes"], 5);
  EXPECT_EQ(fused["is_paired"], true);
  EXPECT_NE(fused["verdict"], "none");
}

TEST_F(Compare, PrintsWhatRanOnRequest) {
  two_runs();
  const std::string text = compare({"tiny"}).output;
  for (const char* detail : {"us a training sample", "cpu fused ran ", "train losses of ", "without a model, "}) {
    EXPECT_THAT(text, Not(HasSubstr(detail)));
    EXPECT_THAT(compare({"tiny", "--verbose"}).output, HasSubstr(detail));
  }
  EXPECT_EQ(compare({"tiny", "--verbose", "--csv"}).exit_code, 2);
}

TEST_F(Compare, RefusesAnotherPrecisionUnlessForced) {
  const auto folders = two_runs("precision=bf16");
  const auto refused = compare({folders[0], folders[1]});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("precision: "));
  const auto forced = compare({folders[0], folders[1], "--force", "--json"});
  EXPECT_EQ(forced.exit_code, 0);
  EXPECT_THAT(forced.output, HasSubstr("\"forced\": [\n"));
}

TEST_F(Compare, GivesCsvForPrograms) {
  const auto folders = two_runs();
  const auto result = compare({folders[0], folders[1], "--csv"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.output.starts_with("label,")) << result.output;
}

TEST_F(Compare, PrintsTimesAndLossesByEpochOnRequest) {
  const auto folders = two_runs();
  const std::string plain = compare({folders[0], folders[1]}).output;
  const std::string text = compare({folders[0], folders[1], "--matrices"}).output;
  EXPECT_TRUE(text.starts_with(plain)) << text;
  EXPECT_THAT(text, HasSubstr("\nTraining seconds by epoch:\n"));
  EXPECT_THAT(text, HasSubstr("\nTrain loss by epoch:\n"));
  EXPECT_THAT(compare({folders[0], folders[1], "--matrices", "--json"}).output, HasSubstr("\"epoch_matrices\": {\n"));
  EXPECT_TRUE(compare({folders[0], folders[1], "--matrices", "--csv"}).output.starts_with("label,epoch,num_runs,"));
}

TEST_F(Compare, NamesAFolderThatIsNotARun) { program_.expect_error(2, {"compare", "nowhere"}); }

// ---- changed conditions ----
// The times of one side change from outside of the program, which is unchanged itself: each change is refused or causes
// a warning.

// Some seconds of work on one CPU.
constexpr const char* kWorkYaml = R"(name: work
device: cpu
layer: naive
data: {source: digits, num_train: 800, num_valid: 0}
model: {hidden_size: 64}
training: {epochs: 5, batch_size: 50, num_threads: 1}
checkpoint: {save: false}
)";

class CompareConditions : public ::testing::Test {
 protected:
  CompareConditions() { program_.write("work.yaml", kWorkYaml); }

  testing::ProgramResult train(const std::string& before = "", const std::string& overrides = "") const {
    return program_.run_in_shell(before + " \"$0\" train --quiet work.yaml " + overrides, 0);
  }
  testing::ProgramResult compare() const { return program_.run({"compare", "--verbose", "runs/work"}); }
  std::string logs() const { return program_.run_in_shell("cat runs/work/*/train.log").output; }

  Program program_;
};

TEST_F(CompareConditions, AnInstructionSetThatIsTakenAwayIsRefused) {
  train();
  train("ONEDNN_MAX_CPU_ISA=SSE41", "layer=fused");
  const testing::ProgramResult result = compare();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("ONEDNN_MAX_CPU_ISA=SSE41 in cpu fused"),
                                   HasSubstr("instruction set of oneDNN: "), HasSubstr(", Intel SSE4.1 in ")));
}

// oneDNN has no bfloat16 kernels there, and throws its own exception.
TEST_F(CompareConditions, ALayerOfPanelsTrainsOnAProcessorWithoutBfloat16) {
  train("ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI", "layer=blocked");
}

TEST_F(CompareConditions, ARedundantVariableIsRefused) {
  train();
  train("MALLOC_ARENA_MAX=1", "layer=fused");
  EXPECT_EQ(compare().exit_code, 2);
}

TEST_F(CompareConditions, AThreadNumberIsComparedByItsEffect) {
  train();
  train("OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES=0", "layer=fused");
  const testing::ProgramResult result = compare();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("variables that change no "));
}

TEST_F(CompareConditions, AChangedClockIsNamed) {
  train(fmt::format("LD_PRELOAD={}", RNNLAB_SLOW_CLOCK));
  EXPECT_THAT(logs(), HasSubstr("another clock: "));
  train("", "layer=fused");
  const testing::ProgramResult result = compare();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("LD_PRELOAD=librnnlab_slow_clock.so in cpu naive"));
}

TEST_F(CompareConditions, AProcessThatIsStoppedTwoThirdsOfTheTimeIsNamed) {
  program_.run_in_shell(R"(
    "$0" train --quiet work.yaml & process=$!
    while kill -STOP $process 2>/dev/null; do sleep 0.02; kill -CONT $process; sleep 0.01; done
    wait $process)");
  EXPECT_THAT(logs(), HasSubstr("it waited: "));
  EXPECT_THAT(compare().output, HasSubstr("it waited: "));
}

// A group of its own with two fifths of a CPU, where this process may make one.
constexpr const char* kQuota = R"(
  group=/sys/fs/cgroup/cpu/rnnlab-test-$$
  mkdir $group 2>/dev/null && echo 40000 >$group/cpu.cfs_quota_us || exit 77
  (sh -c 'echo $PPID' >$group/cgroup.procs && exec "$0" train --quiet work.yaml layer=fused)
  rmdir $group)";

TEST_F(CompareConditions, AQuotaIsNamedAndRefused) {
  const testing::ProgramResult held = program_.run_in_shell(kQuota);
  if (held.exit_code == 77) GTEST_SKIP() << "no control group can be made here";
  EXPECT_THAT(logs(), HasSubstr("throttled: a quota of "));
  train();
  const testing::ProgramResult result = compare();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("CPU quota: 0.4 CPUs in "));
}

TEST_F(CompareConditions, BoundThreadsAreNoThreadsTooMany) {
  EXPECT_THAT(train("OMP_PROC_BIND=true", "training.num_threads=null").errors, Not(HasSubstr("MORE THREADS")));
}

TEST_F(CompareConditions, FairListsTheEqualConditions) {
  train();
  train("", "layer=fused");
  const testing::ProgramResult text = program_.run({"compare", "--fair", "runs/work"});
  EXPECT_THAT(text.output, AllOf(HasSubstr("Held equal:\n"), HasSubstr("instruction set of oneDNN"),
                                 HasSubstr("variables that change kernels"), Not(HasSubstr("Not held equal"))));
  EXPECT_THAT(program_.run({"compare", "--fair", "--json", "runs/work"}).output, HasSubstr("\"held_equal\": {"));
  EXPECT_THAT(compare().output, Not(HasSubstr("Held equal")));
}

// ---- a timer that really does not wait for the GPU: only the CUDA runtime of the program is another ----

// Few steps of much work, which the host queues in a fraction of the time that they take.
constexpr const char* kHeavyYaml = R"(name: heavy
device: cuda
layer: fused
data: {source: digits, num_train: 4096, num_valid: 0}
model: {hidden_size: 1024}
training: {epochs: 4, batch_size: 512}
)";

std::string compared_by(const std::string& environment) {
  const Program program;
  program.write("heavy.yaml", kHeavyYaml);
  for (int run = 0; run < 2; ++run) program.run_in_shell(environment + " \"$0\" train --quiet heavy.yaml", 0);
  return program.run({"compare", "runs/heavy"}).output;
}

TEST(UnsynchronisedTimer, IsAWarning) {
  const Program program;
  if (program.run_in_shell("\"$0\" info | grep -q '^device:.*cuda'").exit_code != 0) GTEST_SKIP() << "no GPU";
  EXPECT_THAT(compared_by(fmt::format("LD_PRELOAD={}", RNNLAB_UNWAITING_CLOCK)),
              HasSubstr(": UNSYNCHRONISED TIMER: epochs of "));
  EXPECT_THAT(compared_by(""), Not(HasSubstr("UNSYNCHRONISED")));
}

}  // namespace
}  // namespace rnnlab
