// SPDX-License-Identifier: Apache-2.0
#include "runs/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "results/measuring_order.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

constexpr const char* kMeasurement = "00000000000000a1";

// Two seeds, each with two layers that may be compared.
const std::vector<PlanSide> kSides = {{"layer=naive seed=1", "seed 1", 2},
                                      {"layer=fused seed=1", "seed 1", 2},
                                      {"layer=naive seed=2", "seed 2", 2},
                                      {"layer=fused seed=2", "seed 2", 2}};

std::vector<std::string> cases_of_tasks(const std::vector<PlannedTask>& tasks) {
  std::vector<std::string> texts;
  for (const PlannedTask& task : tasks) {
    std::vector<int64_t> cases;
    for (const PlannedRun& run : task.runs) cases.push_back(run.case_number);
    std::ranges::sort(cases);
    std::string text;
    for (const int64_t number : cases) text += std::to_string(number);
    texts.push_back(text);
  }
  return texts;
}

SweepPlan small_plan() {
  return {.measurement = kMeasurement,
          .spread = Spread::kRounds,
          .command_line = {"rnnlab", "sweep", "plan"},
          .cases = {{"a", "name: a\n"}, {"b", "name: b\n"}},
          .tasks = make_tasks({{"a", "", 1}, {"b", "", 1}}, Spread::kRounds, kMeasurement)};
}

TEST(MakeTasks, PutsOneRoundOfAllSidesOfAComparisonIntoATask) {
  EXPECT_THAT(cases_of_tasks(make_tasks(kSides, Spread::kRounds, kMeasurement)), ElementsAre("12", "34", "12", "34"));
}

TEST(MakeTasks, MakesATaskOfEachRunOnRequest) {
  const auto tasks = make_tasks(kSides, Spread::kRuns, kMeasurement);
  EXPECT_THAT(cases_of_tasks(tasks), ElementsAre("1", "2", "3", "4", "1", "2", "3", "4"));
  for (const PlannedTask& task : tasks) EXPECT_EQ(task.runs[0].round, 0) << "sides on two machines are not a pair";
}

TEST(MakeTasks, KeepsAllRoundsOfAComparisonTogetherOnRequest) {
  EXPECT_THAT(cases_of_tasks(make_tasks(kSides, Spread::kComparisons, kMeasurement)), ElementsAre("1122", "3344"));
}

TEST(MakeTasks, OfCasesThatCannotBeComparedAreOneRunEach) {
  const auto tasks = make_tasks({{"a", "1", 1}, {"b", "2", 1}}, Spread::kRounds, kMeasurement);
  EXPECT_THAT(cases_of_tasks(tasks), ElementsAre("1", "2"));
}

TEST(MakeTasks, LeaveOutASideThatHasFewerRounds) {
  const auto tasks = make_tasks({{"a", "", 1}, {"b", "", 2}}, Spread::kRounds, kMeasurement);
  EXPECT_THAT(cases_of_tasks(tasks), ElementsAre("12", "2"));
}

TEST(MakeTasks, TakeTheDrawnOrderOfEachRound) {
  const auto tasks = make_tasks(kSides, Spread::kRounds, kMeasurement);
  for (const PlannedTask& task : tasks) {
    const std::vector<size_t> order = order_of_round(seed_of_measurement(kMeasurement), task.runs[0].round, 2);
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(task.runs[i].position, static_cast<int64_t>(i) + 1);
      EXPECT_EQ((task.runs[i].case_number - 1) % 2, static_cast<int64_t>(order[i]));
    }
  }
}

TEST(FolderOfRun, IsAFunctionOfItsNumber) {
  EXPECT_EQ(folder_of_run(7, 0, 1, "layer=naive seed=1"), "0007-layer=naive_seed=1");
  EXPECT_EQ(folder_of_run(7, 1, 2, "layer=naive"), "0007.2-layer=naive");
  EXPECT_EQ(folder_of_run(12345, 0, 1, "data.path=/a'b\n"), "12345-data.path=_a_b_");
}

TEST(Plan, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  const std::string hash = write_plan(folder.path() / "sweep", small_plan());
  const SweepPlan read = read_plan(folder.path() / "sweep");
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(read.hash, hash);
  EXPECT_EQ(read.num_tasks(), 1);
  EXPECT_EQ(read.num_runs(), 2);
  EXPECT_EQ(read.case_of(read.tasks[0].runs[0]).label, read.tasks[0].runs[0].case_number == 1 ? "a" : "b");
}

TEST(Plan, IsNeverWrittenOver) {
  const TemporaryFolder folder;
  write_plan(folder.path(), small_plan());
  expect_error(ExitCode::kUsage, [&] { write_plan(folder.path(), small_plan()); });
}

TEST(Plan, NeedsAFolderOfItsOwn) {
  const TemporaryFolder folder;
  write_text(folder.path() / "notes.txt", "");
  expect_error(ExitCode::kUsage, [&] { write_plan(folder.path(), small_plan()); });
  expect_error(ExitCode::kUsage, [&] { write_plan(folder.path() / "notes.txt", small_plan()); });
}

TEST(Plan, ThatWasChangedIsRefused) {
  const TemporaryFolder folder;
  write_plan(folder.path(), small_plan());
  const fs::path file = folder.path() / kPlanFile;
  std::string text = read_text(file);
  text.replace(text.find("name: b"), 7, "name: c");
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  write_text(file, text);
  expect_error(ExitCode::kData, [&] { read_plan(folder.path()); });
}

TEST(Plan, OfAFolderThatLeadsElsewhereIsRefused) {
  for (const char* name : {"../elsewhere", "/tmp/elsewhere", "..", "", "a/b"}) {
    const TemporaryFolder folder;
    SweepPlan plan = small_plan();
    plan.tasks[0].runs[0].folder = name;
    EXPECT_THROW(write_plan(folder.path(), plan), UserError) << name;
  }
}

SweepPlan plan_for(const std::vector<std::string>& hardware) {
  const TemporaryFolder folder;
  SweepPlan plan = small_plan();
  plan.hardware = hardware;
  write_plan(folder.path() / "sweep", plan);
  return read_plan(folder.path() / "sweep");
}

TEST(Plan, MayBeForSomeHardware) {
  const std::vector<std::string> here = hardware_here();
  ASSERT_EQ(here.size(), 2U);
  EXPECT_NO_THROW(require_hardware(plan_for({})));
  EXPECT_NO_THROW(require_hardware(plan_for(here)));
  EXPECT_NO_THROW(require_hardware(plan_for({here[1]})));
  message_of_error(ExitCode::kDevice, [&] { require_hardware(plan_for({here[0], "Abacus 2000"})); });
}

TEST(Plan, ThatIsMissingIsAUsageError) {
  const TemporaryFolder folder;
  expect_error(ExitCode::kUsage, [&] { read_plan(folder.path()); });
}

}  // namespace
}  // namespace rnnlab::testing

namespace rnnlab {
namespace {

TEST(LaunchCommands, CountTheTasks) { expect_golden(launch_commands("sweeps/a", 24)); }

}  // namespace
}  // namespace rnnlab
