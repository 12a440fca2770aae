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
#include "runs/sweep/claim.h"
#include "runs/sweep/plan.h"
#include "runs/sweep/status.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::Program;
using testing::ProgramResult;

constexpr const char* kTwoSides = "sweep: {layer: [naive, fused]}\n";
constexpr const char* kThreeSeeds = "sweep: {seed: [1, 2, 3]}\n";

class SweepVerb : public ::testing::Test {
 protected:
  void plan(const std::string& more, const std::vector<std::string>& options = {}) {
    program_.write("tiny.yaml", kTinyYaml + more);
    std::vector<std::string> words = {"sweep", "plan", "tiny.yaml", "--out", "sweep"};
    words.insert(words.end(), options.begin(), options.end());
    const auto result = program_.run(words);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    plan_ = read_plan(folder());
  }

  ProgramResult task(const std::string& number, const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words = {"train", "--task", number, "sweep"};
    words.insert(words.end(), options.begin(), options.end());
    return program_.run(words);
  }
  ProgramResult work(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words = {"sweep", "work", "sweep"};
    words.insert(words.end(), options.begin(), options.end());
    return program_.run(words);
  }
  std::string status(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words = {"sweep", "status", "sweep"};
    words.insert(words.end(), options.begin(), options.end());
    return program_.run(words).output;
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
  program_.write("tiny.yaml", std::string(kTinyYaml) + kThreeSeeds);
  const auto result = program_.run({"sweep", "plan", "tiny.yaml", "--out", "sweep"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("sweep: 3 tasks of 3 runs, numbered from 0; hash "));
  EXPECT_THAT(result.output, HasSubstr("seq 0 2 | xargs -P 1 -I {} rnnlab train --task {} sweep\n"));
  EXPECT_EQ(program_.run({"sweep", "plan", "tiny.yaml", "--out", "sweep"}).exit_code, 2) << "never written over";
}

TEST_F(SweepVerb, PrintsTheSizeOfAPlanAsJson) {
  program_.write("tiny.yaml", std::string(kTinyYaml) + kThreeSeeds);
  const auto result = program_.run({"sweep", "plan", "tiny.yaml", "--out", "sweep", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("folder"), "sweep");
  EXPECT_EQ(json.at("num_tasks"), 3);
  EXPECT_EQ(json.at("num_runs"), 3);
  EXPECT_EQ(json.at("plan"),
            nlohmann::json::parse(program_.run({"sweep", "status", "sweep", "--json"}).output).at("plan"));
}

TEST_F(SweepVerb, NeedsAFolderForAPlan) {
  program_.write("tiny.yaml", kTinyYaml);
  expect_golden(program_.run({"sweep", "plan", "tiny.yaml"}).errors);
}

TEST_F(SweepVerb, RunsATaskByItsNumberOnce) {
  plan(kThreeSeeds);
  const auto first = task("1");
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.errors, HasSubstr("=== task 1 of 3, run 1 of 1: seed=2"));
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
  const auto compared = program_.run({"compare", "sweep"});
  EXPECT_EQ(compared.exit_code, 0) << compared.errors;
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
  EXPECT_THAT(result.errors, HasSubstr("task 0 is taken by " + describe(this_worker()) + " since "));
  const auto worked = work();
  EXPECT_EQ(worked.exit_code, 0) << worked.errors;
  EXPECT_THAT(worked.errors, HasSubstr("no task is left for this worker; other workers run 1 task"));
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
  EXPECT_THAT(status({"--json"}), HasSubstr("use device=cpu, or see `rnnlab info`"));
  const auto left_out = work();
  EXPECT_EQ(left_out.exit_code, 4);
  EXPECT_THAT(left_out.errors, HasSubstr("1 task failed before and is skipped; use --retry-failed to try again"));
  EXPECT_EQ(work({"--retry-failed"}).exit_code, 4);
}

TEST_F(SweepVerb, DoesNotTrainAgainWhatDiverged) {
  plan("", {"training.learning_rate=1e38", "training.optimizer=sgd"});
  EXPECT_EQ(task("0").exit_code, 5);
  EXPECT_THAT(status(), HasSubstr("failed"));
  const auto again = task("0");
  EXPECT_EQ(again.exit_code, 5);
  EXPECT_THAT(again.errors, HasSubstr("diverged before and would diverge again: "));
}

TEST_F(SweepVerb, LeavesAMachineOnWhichEverythingFails) {
  plan("sweep: {seed: [1, 2, 3, 4, 5]}\n", {"device=cuda:99"});
  const auto worked = work();
  EXPECT_EQ(worked.exit_code, 4);
  EXPECT_THAT(worked.errors, HasSubstr("3 tasks in a row failed, perhaps because of this machine"));
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
  EXPECT_THAT(again.errors,
              HasSubstr("config.yaml: its settings differ from those of the plan; restore it, or remove its folder"));
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
  EXPECT_THAT(status(), HasSubstr("3 tasks of 3 runs on machines with " + hardware_here().front()));
  EXPECT_THAT(status({"--json"}), HasSubstr("\"hardware\""));
  EXPECT_EQ(work().exit_code, 0);
}

TEST_F(SweepVerb, LeavesAPlanForOtherHardwareAsItIs) {
  plan(kThreeSeeds, {"--pin=Abacus 2000"});
  for (const ProgramResult& refused : {work(), work({"--gpus=0,1"}), task("1")}) {
    EXPECT_EQ(refused.exit_code, static_cast<int>(ExitCode::kDevice));
    EXPECT_THAT(refused.errors, HasSubstr("the plan is for machines with 'Abacus 2000' (--pin), but this machine has"));
  }
  EXPECT_THAT(states(), ElementsAre(TaskState::kFree, TaskState::kFree, TaskState::kFree));
  EXPECT_THAT(status(), HasSubstr("to continue on such a machine, which this one is not: "));
}

TEST_F(SweepVerb, SaysWhichCasesThisMachineCannotRun) {
  program_.write("tiny.yaml", std::string(kTinyYaml) + "sweep: {device: [cpu, cuda:99]}\n");
  const auto result = program_.run({"sweep", "plan", "tiny.yaml", "--out", "sweep", "--pin=Abacus 2000"});
  EXPECT_EQ(result.exit_code, 0) << "another machine may run them";
  EXPECT_THAT(result.output, HasSubstr(", for machines with Abacus 2000 (this machine is not one); hash "));
  EXPECT_THAT(result.errors, HasSubstr("rnnlab: note: 1 of 2 cases cannot run on this machine: device: got cuda:99"));
}

TEST_F(SweepVerb, StatusIsJsonForPrograms) {
  plan(kThreeSeeds);
  ASSERT_EQ(task("0").exit_code, 0);
  const Json json = parse_json(status({"--json"}), "status");
  EXPECT_EQ(json["num_tasks"], 3);
  EXPECT_EQ(json["tasks"][0]["state"], "done");
  EXPECT_EQ(json["tasks"][1]["runs"][0]["label"], "seed=2");
}

TEST_F(SweepVerb, ExplainsWhatIsWrongWithANumber) {
  plan(kThreeSeeds);
  EXPECT_THAT(task("3").errors, HasSubstr("--task: got 3, but the plan has tasks 0 to 2\n"));
  for (const char* text : {"x", "-1", "1/1", "1/0", "1/2/3", "/2"})
    EXPECT_THAT(task(text).errors, HasSubstr("expected the number of a task, such as 7, or 7/100 for the tasks 7, 107, "
                                             "207 and so on\n"))
        << text;
  EXPECT_THAT(task("0", {"training.epochs=5"}).errors,
              HasSubstr("--task: got 2 arguments, expected only the folder of a plan"));
  EXPECT_EQ(task("0", {"--out", "runs"}).exit_code, 2);
}

TEST_F(SweepVerb, ExplainsThatThePlanIsMissing) { expect_golden(work().errors); }

TEST_F(SweepVerb, ExplainsThatAPlanIsNotResumed) {
  plan(kThreeSeeds);
  expect_golden(program_.run({"train", "--resume", "sweep/sweep.json"}).errors);
}

// ---- engines that only count ----

TEST_F(SweepVerb, IsRunByXargs) {
  plan(kThreeSeeds);
  const auto result = program_.run_in_shell("seq 0 2 | xargs -P 2 -I {} \"$0\" train --task {} sweep");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(states(), ElementsAre(TaskState::kDone, TaskState::kDone, TaskState::kDone));
}

TEST_F(SweepVerb, IsRunByGnuParallel) {
  if (program_.run_in_shell("parallel --version").exit_code != 0) GTEST_SKIP() << "GNU parallel is not installed";
  plan(kThreeSeeds);
  const auto result = program_.run_in_shell(
      "seq 0 2 | parallel --joblog sweep.log -j 2 \"$0\" train --task {} sweep && "
      "seq 0 2 | parallel --joblog sweep.log --resume-failed -j 2 \"$0\" train --task {} sweep");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(states(), ElementsAre(TaskState::kDone, TaskState::kDone, TaskState::kDone));
}

TEST_F(SweepVerb, IsRunByASlurmArray) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start a Slurm for a test";
  if (program_.run_in_shell("command -v slurmctld && command -v slurmd && command -v sbatch").exit_code != 0)
    GTEST_SKIP() << "Slurm is not installed (slurmctld slurmd slurm-client slurm-wlm-basic-plugins)";
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
