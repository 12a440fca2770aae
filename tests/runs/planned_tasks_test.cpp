// SPDX-License-Identifier: Apache-2.0
// Tests the tasks of a plan in this process; tests/app/sweep_test.cpp tests them with the built program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/system/temporary_folder.h"
#include "results/run_record.h"
#include "runs/plan/status.h"
#include "runs/run_process.h"
#include "runs/sweep.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using testing::cases_of;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::one_thread_is_fastest;
using testing::TemporaryFolder;

// These speeds are those of a quiet CPU.
std::map<int64_t, double> two_threads_are_fastest(int64_t) { return {{2, 2.0}, {1, 1.0}}; }

// A plan of two tasks, each with one run. A script takes the place of the program that a worker starts for a run, and
// writes its arguments to a file.
class PlannedTasks : public ::testing::Test {
 protected:
  PlannedTasks() {
    testing::write_text(program_, "#!/bin/sh\necho \"$@\" >> '" + arguments_.string() + "'\n");
    fs::permissions(program_, fs::perms::owner_all);
  }

  void plan(const std::vector<std::string>& overrides = {}) {
    const auto cases = cases_of(std::string(kTinyYaml) + "sweep: {seed: [1, 2]}\n", overrides);
    write_plan(folder(), plan_sweep(cases, Spread::kRuns, {}, {}));
    plan_ = read_plan(folder());
  }

  // Returns the log and the arguments of the run's process.
  std::string run(int64_t task, const MeasureSpeeds& speeds) {
    Logger logger(Verbosity::kNormal, Terminal{});
    ::testing::internal::CaptureStderr();
    const RunRequest request{.folder = folder(), .measure_speeds = speeds, .program = program_.string()};
    EXPECT_EQ(run_tasks(plan_, task, 0, BusyTasks::kSkip, request, logger), ExitCode::kDone);
    return ::testing::internal::GetCapturedStderr() + testing::read_text(arguments_);
  }

  // Trains the run in this process, as the process that a worker starts does.
  void train(size_t task, const std::vector<std::string>& overrides) {
    Logger logger(Verbosity::kQuiet, Terminal{});
    const RunOfBook run{folder() / kPlanFile, plan_.tasks.at(task).runs.at(0).folder};
    ASSERT_EQ(run_of_book(run, overrides, {}, logger), ExitCode::kDone);
  }

  fs::path folder() const { return root_.path() / "sweep"; }
  fs::path run_folder(size_t task) const { return folder() / plan_.tasks.at(task).runs.at(0).folder; }

  const TemporaryFolder root_;
  const fs::path program_ = root_.path() / "program";
  const fs::path arguments_ = root_.path() / "arguments";
  SweepPlan plan_;
};

TEST_F(PlannedTasks, GetTheNumberOfThreadsThatABusyCpuIsFastestWith) {
  plan();
  const std::string told = run(0, one_thread_is_fastest);
  EXPECT_THAT(told, HasSubstr("The CPU is busy: "));
  EXPECT_THAT(told, HasSubstr("training.num_threads: 1, "));
  EXPECT_THAT(told, HasSubstr(" training.num_threads=1\n"));
}

TEST_F(PlannedTasks, HaveAThreadForEachCpuOnAQuietMachine) {
  plan();
  const std::string told = run(0, two_threads_are_fastest);
  EXPECT_THAT(told, Not(HasSubstr("The CPU is busy")));
  EXPECT_THAT(told, Not(HasSubstr("num_threads")));
}

TEST_F(PlannedTasks, KeepANumberOfThreadsThatIsSetAndMeasureNothing) {
  plan({"training.num_threads=2"});
  const auto never = [](int64_t) -> std::map<int64_t, double> { throw std::logic_error("measured"); };
  EXPECT_THAT(run(0, never), Not(HasSubstr("training.num_threads")));
}

// Otherwise `rnnlab compare` would refuse the times of two tasks.
TEST_F(PlannedTasks, GetTheNumberOfThreadsThatTheFirstWorkerDecided) {
  plan();
  run(0, one_thread_is_fastest);
  EXPECT_THAT(run(1, two_threads_are_fastest), EndsWith(" training.num_threads=1\n"));
}

TEST_F(PlannedTasks, OfAPlanThatHasBegunKeepAThreadForEachCpu) {
  plan();
  train(0, {});
  EXPECT_THAT(run(1, one_thread_is_fastest), Not(HasSubstr("num_threads")));
}

TEST_F(PlannedTasks, TrainWithTheNumberOfThreadsOfTheirWorker) {
  plan();
  train(0, {"training.num_threads=1"});
  EXPECT_EQ(load_run(run_folder(0)).summary.identity.num_threads, 1);
}

TEST_F(PlannedTasks, LeaveTheReasonOfAFailureForTheirWorker) {
  plan({"device=cuda:99"});
  Logger logger(Verbosity::kQuiet, Terminal{});
  const std::string run = plan_.tasks.at(0).runs.at(0).folder;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_of_book({folder() / kPlanFile, run}, {}, {}, logger), ExitCode::kDevice);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("device: got cuda:99, but "));
  EXPECT_THAT(testing::read_text(reason_file(folder(), run)), HasSubstr("device: got cuda:99, but "));
}

TEST_F(PlannedTasks, AreRefusedIfThePlanHasNoSuchRun) {
  plan();
  Logger logger(Verbosity::kQuiet, Terminal{});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_of_book({folder() / kPlanFile, "0007-seed=1"}, {}, {}, logger), ExitCode::kUsage);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("no run '0007-seed=1'"));
}

}  // namespace
}  // namespace rnnlab
