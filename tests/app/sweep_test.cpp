// SPDX-License-Identifier: Apache-2.0
// Tests a sweep on which several processes work, with the built program.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "app/program.h"
#include "base/system/json_fields.h"
#include "golden.h"
#include "results/run_folder.h"
#include "results/run_record.h"
#include "runs/plan/claim.h"
#include "runs/plan/plan.h"
#include "runs/plan/status.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::Program;
using testing::ProgramResult;
using testing::with;
using testing::Words;

constexpr const char* kTwoSides = "sweep: {layer: [naive, fused]}\n";
constexpr const char* kThreeSeeds = "sweep: {seed: [1, 2, 3]}\n";

class SweepVerb : public ::testing::Test {
 protected:
  // Returns what the verb prints.
  std::string plan(const std::string& more, const Words& options = {}) {
    program_.write("tiny.yaml", kTinyYaml + more);
    const auto result = program_.run(with({"sweep", "plan", "tiny.yaml", "--out", "sweep"}, options), 0);
    plan_ = read_plan(folder());
    return result.output;
  }

  ProgramResult task(const std::string& number, const Words& options = {}) const {
    return program_.run(with({"train", "--task", number, "sweep"}, options));
  }
  ProgramResult work(const Words& options = {}) const {
    return program_.run(with({"sweep", "work", "sweep"}, options));
  }
  std::string status(const Words& options = {}) const {
    return program_.run(with({"sweep", "status", "sweep"}, options)).output;
  }

  fs::path folder() const { return program_.folder() / "sweep"; }
  fs::path run(size_t task, size_t position = 0) const {
    return folder() / plan_.tasks.at(task).runs.at(position).folder;
  }
  std::vector<TaskState> states() const {
    std::vector<TaskState> found;
    for (const TaskStatus& status : status_of_tasks(folder(), plan_)) found.push_back(status.state);
    return found;
  }

  const Program program_;
  SweepPlan plan_;
};

TEST_F(SweepVerb, PlansAndSaysHowToRun) {
  const std::string printed = plan(kThreeSeeds);
  EXPECT_THAT(printed, HasSubstr("sweep: 3 tasks of 3 runs, "));
  EXPECT_THAT(printed, HasSubstr(" train --task {} sweep\n"));
  program_.run({"sweep", "plan", "tiny.yaml", "--out", "sweep"}, 2);  // never written over
}

TEST_F(SweepVerb, PrintsTheSizeOfAPlanAsJson) {
  const auto json = nlohmann::json::parse(plan(kThreeSeeds, {"--json"}));
  EXPECT_EQ(json.at("folder"), "sweep");
  EXPECT_EQ(json.at("num_tasks"), 3);
  EXPECT_EQ(json.at("num_runs"), 3);
  EXPECT_EQ(json.at("plan"), nlohmann::json::parse(status({"--json"})).at("plan"));
}

TEST_F(SweepVerb, NeedsAFolderForAPlan) {
  program_.write("tiny.yaml", kTinyYaml);
  program_.expect_error(2, {"sweep", "plan", "tiny.yaml"});
}

TEST_F(SweepVerb, RunsATaskByItsNumberOnce) {
  plan(kThreeSeeds);
  const auto first = task("1");
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.errors, HasSubstr("=== task 1 of 3, "));
  EXPECT_THAT(states(), ElementsAre(TaskState::kFree, TaskState::kDone, TaskState::kFree));
  const auto written = fs::last_write_time(run(1) / kSummaryFile);
  const auto again = task("1");
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.errors, HasSubstr("task 1 is done"));
  EXPECT_EQ(fs::last_write_time(run(1) / kSummaryFile), written) << "is not trained again";
  EXPECT_EQ(read_summary(run(1)).seed, 2);
}

TEST_F(SweepVerb, RunsEveryNthTask) {
  plan("sweep: {seed: [1, 2, 3, 4, 5]}\n");
  EXPECT_EQ(task("1/2").exit_code, 0);
  EXPECT_THAT(states(),
              ElementsAre(TaskState::kFree, TaskState::kDone, TaskState::kFree, TaskState::kDone, TaskState::kFree));
  EXPECT_EQ(task("7/8").exit_code, 0) << "there is none";
}

TEST_F(SweepVerb, PrintsTheStateAtTheEndAsJson) {
  plan(std::string(kTwoSides) + "repeats: 2\n");
  const auto worked = work({"--json"});
  ASSERT_EQ(worked.exit_code, 0) << worked.errors;
  EXPECT_EQ(worked.output, status({"--json"}));
  const auto json = nlohmann::json::parse(worked.output);
  ASSERT_EQ(json.at("tasks").size(), 2u);
  for (const auto& task : json.at("tasks")) EXPECT_EQ(task.at("state"), "done");
}

TEST_F(SweepVerb, TakesAllSidesOfARoundAndRecordsTheirTurns) {
  plan(std::string(kTwoSides) + "repeats: 2\n");
  ASSERT_EQ(work().exit_code, 0);
  std::set<std::string> processes;
  for (size_t task = 0; task < 2; ++task)
    for (size_t i = 0; i < 2; ++i) {
      const Turn turn = read_summary(run(task, i)).turn;
      EXPECT_EQ(turn.measurement, plan_.measurement);
      EXPECT_EQ(turn.round, static_cast<int64_t>(task) + 1);
      EXPECT_EQ(turn.position, static_cast<int64_t>(i) + 1);
      processes.insert(turn.process);
    }
  EXPECT_EQ(processes.size(), 4u) << "each run has a process of its own";
  const auto compared = program_.run({"compare", "sweep"}, 0);
  EXPECT_THAT(compared.output, HasSubstr("cpu naive"));
  EXPECT_THAT(compared.output, HasSubstr("baseline"));
}

TEST_F(SweepVerb, RecordsNoPairsOfRunsThatAreSpread) {
  plan(kTwoSides, {"--spread", "runs"});
  ASSERT_EQ(work().exit_code, 0);
  EXPECT_EQ(read_summary(run(0)).turn.measurement, "");
  EXPECT_EQ(read_summary(run(0)).layer, "naive");
  EXPECT_EQ(read_summary(run(1)).turn.case_number, 2);
}

TEST_F(SweepVerb, DoesNotTouchATaskThatAnotherWorkerRuns) {
  plan(kThreeSeeds);
  const auto claim = Claim::take(folder() / kClaimsFolder, name_of_task(0));
  const auto result = task("0");
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.errors, HasSubstr(" by " + describe(this_worker()) + " since "));
  const auto worked = work();
  EXPECT_EQ(worked.exit_code, 0) << worked.errors;
  EXPECT_THAT(worked.errors, HasSubstr("other workers run 1 task"));
  EXPECT_THAT(states(), ElementsAre(TaskState::kAtWork, TaskState::kDone, TaskState::kDone));
  EXPECT_FALSE(fs::exists(run(0)));
}

TEST_F(SweepVerb, ResumesWhatASignalStopped) {
  plan("", {"training.epochs=100000", "checkpoint.every_seconds=0"});
  const auto has_saved = [&] { return fs::exists(run(0) / kCheckpointsFolder / "best.json"); };
  const auto stopped = program_.run_and_signal({"train", "--task", "0", "sweep"}, SIGTERM, has_saved);
  EXPECT_EQ(stopped.exit_code, 143) << stopped.errors;
  EXPECT_THAT(states(), ElementsAre(TaskState::kStopped));
  EXPECT_EQ(status({"--left"}), "0\n");
  const auto again = program_.run_and_signal({"train", "--task", "0", "sweep"}, SIGTERM,
                                             [&] { return !fs::exists(run(0) / kSummaryFile); });
  EXPECT_EQ(again.exit_code, 143);
  EXPECT_THAT(testing::read_text(run(0) / kLogFile), HasSubstr("resumes after step "));
}

TEST_F(SweepVerb, ContinuesAfterAFailureAndReportsItsReason) {
  plan("sweep: {device: ['cuda:99', cpu]}\n", {"--spread", "runs"});
  const auto worked = work();
  EXPECT_EQ(worked.exit_code, 4);
  EXPECT_THAT(states(), ElementsAre(TaskState::kFailed, TaskState::kDone));
  EXPECT_THAT(status(), HasSubstr("device: got cuda:99, but "));
  EXPECT_EQ(status({"--failed"}), "0\n");
  EXPECT_THAT(status({"--json"}), HasSubstr("use device=cpu"));
  const auto left_out = work();
  EXPECT_EQ(left_out.exit_code, 4);
  EXPECT_THAT(left_out.errors, HasSubstr("--retry-failed"));
  EXPECT_EQ(work({"--retry-failed"}).exit_code, 4);
}

TEST_F(SweepVerb, DoesNotTrainAgainWhatDiverged) {
  plan("", {"training.learning_rate=1e38", "training.optimizer=sgd"});
  EXPECT_EQ(task("0").exit_code, 5);
  EXPECT_THAT(status(), HasSubstr("failed"));
  const auto again = task("0");
  EXPECT_EQ(again.exit_code, 5);
  EXPECT_THAT(again.errors, HasSubstr("diverged before "));
}

TEST_F(SweepVerb, LeavesAMachineOnWhichEverythingFails) {
  plan("sweep: {seed: [1, 2, 3, 4, 5]}\n", {"device=cuda:99"});
  const auto worked = work();
  EXPECT_EQ(worked.exit_code, 4);
  EXPECT_THAT(worked.errors, HasSubstr("3 tasks in a row"));
  EXPECT_EQ(status({"--left"}), "0-4\n");
  EXPECT_EQ(status({"--failed"}), "0-2\n");
}

TEST_F(SweepVerb, RefusesARunWithOtherSettingsThanThePlan) {
  plan(kThreeSeeds);
  ASSERT_EQ(task("0").exit_code, 0);
  fs::remove(run(0) / kSummaryFile);
  std::string config = testing::read_text(run(0) / kConfigFile);
  config.replace(config.find("seed: 1"), 7, "seed: 9");
  program_.write(fs::relative(run(0) / kConfigFile, program_.folder()), config);
  const auto again = task("0");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, HasSubstr("config.yaml: its settings "));
}

TEST_F(SweepVerb, WaitsForTasksOfOtherWorkersOnRequest) {
  plan(kThreeSeeds);
  auto claim = Claim::take(folder() / kClaimsFolder, name_of_task(1));
  const auto others_are_done = [&] {
    return state_of_run(run(0)) == RunState::kDone && state_of_run(run(2)) == RunState::kDone;
  };
  const auto waiting = program_.run_and_signal({"sweep", "work", "sweep", "--wait"}, SIGTERM, others_are_done);
  EXPECT_EQ(waiting.exit_code, 143) << waiting.errors;
  claim.reset();
  EXPECT_EQ(work({"--wait"}).exit_code, 0);
  EXPECT_THAT(states(), ElementsAre(TaskState::kDone, TaskState::kDone, TaskState::kDone));
}

TEST_F(SweepVerb, HasAWorkerForEachGpuThatIsNamed) {
  plan(kThreeSeeds);
  const auto worked = work({"--gpus=5,7"});
  EXPECT_EQ(worked.exit_code, 0) << worked.errors;
  EXPECT_THAT(states(), ::testing::Each(TaskState::kDone));
  for (size_t task = 0; task < 3; ++task)
    EXPECT_THAT(read_environment(run(task)).variables.value()["CUDA_VISIBLE_DEVICES"], ::testing::AnyOf("5", "7"));
}

TEST_F(SweepVerb, PinsAPlanToHardware) {
  plan(kThreeSeeds, {"--pin"});
  EXPECT_EQ(plan_.hardware, hardware_here());
  EXPECT_THAT(status(), HasSubstr(" with " + hardware_here().front()));
  EXPECT_THAT(status({"--json"}), HasSubstr("\"hardware\""));
  EXPECT_EQ(work().exit_code, 0);
}

TEST_F(SweepVerb, LeavesAPlanForOtherHardwareAsItIs) {
  plan(kThreeSeeds, {"--pin=Abacus 2000"});
  for (const ProgramResult& refused : {work(), work({"--gpus=0,1"}), task("1")}) {
    EXPECT_EQ(refused.exit_code, static_cast<int>(ExitCode::kDevice));
    EXPECT_THAT(refused.errors, HasSubstr("'Abacus 2000' (--pin)"));
  }
  EXPECT_THAT(states(), ElementsAre(TaskState::kFree, TaskState::kFree, TaskState::kFree));
  EXPECT_THAT(status(), HasSubstr("this one is not: "));
}

TEST_F(SweepVerb, SaysWhichCasesThisMachineCannotRun) {
  program_.write("tiny.yaml", std::string(kTinyYaml) + "sweep: {device: [cpu, cuda:99]}\n");
  // Another machine may run them.
  const auto result = program_.run({"sweep", "plan", "tiny.yaml", "--out", "sweep", "--pin=Abacus 2000"}, 0);
  EXPECT_THAT(result.output, HasSubstr("machine is not one)"));
  EXPECT_THAT(result.errors, HasSubstr("note: 1 of 2 cases "));
}

TEST_F(SweepVerb, ExplainsWhatIsWrongWithANumber) {
  plan(kThreeSeeds);
  for (const char* text : {"3", "x", "-1", "1/1", "1/0", "1/2/3", "/2"})
    program_.expect_error(2, {"train", "--task", text, "sweep"});
  program_.expect_error(2, {"train", "--task", "0", "sweep", "training.epochs=5"});
  EXPECT_EQ(task("0", {"--out", "runs"}).exit_code, 2);
}

TEST_F(SweepVerb, ExplainsThatThePlanIsMissing) { program_.expect_error(2, {"sweep", "work", "sweep"}); }

TEST_F(SweepVerb, ExplainsThatAPlanIsNotResumed) {
  plan(kThreeSeeds);
  program_.expect_error(2, {"train", "--resume", "sweep/sweep.json"});
}

// ---- engines that only count ----

TEST_F(SweepVerb, IsRunByXargs) {
  plan(kThreeSeeds);
  program_.run_in_shell("seq 0 2 | xargs -P 2 -I {} \"$0\" train --task {} sweep", 0);
  EXPECT_THAT(states(), ElementsAre(TaskState::kDone, TaskState::kDone, TaskState::kDone));
}

TEST_F(SweepVerb, IsRunByGnuParallel) {
  if (program_.run_in_shell("parallel --version").exit_code != 0) GTEST_SKIP() << "GNU parallel is not installed";
  plan(kThreeSeeds);
  program_.run_in_shell(
      "seq 0 2 | parallel --joblog sweep.log -j 2 \"$0\" train --task {} sweep && "
      "seq 0 2 | parallel --joblog sweep.log --resume-failed -j 2 \"$0\" train --task {} sweep",
      0);
  EXPECT_THAT(states(), ElementsAre(TaskState::kDone, TaskState::kDone, TaskState::kDone));
}

TEST_F(SweepVerb, IsRunByASlurmArray) {
  if (!testing::can_start_slurm()) GTEST_SKIP() << testing::kNoSlurm;
  plan("sweep: {seed: [1, 2, 3, 4, 5, 6]}\n");
  // `sbatch --wait` checks for the end of the jobs only twice a minute.
  program_.write("submit",
                 "sbatch --array=0-5%2 --requeue --open-mode=append --signal=TERM@120 --output=task-%a.log "
                 "--wrap \"srun --ntasks=1 $1 train --wait --task \\$SLURM_ARRAY_TASK_ID sweep\" && "
                 "while squeue --noheader | grep -q .; do sleep 0.2; done\n");
  const auto result = program_.run_in_shell(RNNLAB_SOURCE_DIR "/tests/launchers/with-slurm slurm sh submit \"$0\"");
  EXPECT_EQ(result.exit_code, 0) << result.errors << testing::read_text(program_.folder() / "task-0.log");
  EXPECT_THAT(states(), ::testing::Each(TaskState::kDone));
  const std::string claim = testing::read_text(folder() / kClaimsFolder / (name_of_task(3) + ".1"));
  EXPECT_THAT(claim, HasSubstr("\"job\": \"Slurm job "));
  EXPECT_THAT(claim, HasSubstr("_3\""));
}

}  // namespace
}  // namespace rnnlab
