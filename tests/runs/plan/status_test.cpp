// SPDX-License-Identifier: Apache-2.0
#include "runs/plan/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system/json_fields.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/run_folder.h"
#include "results/summary.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SweepStatus : public ::testing::Test {
 protected:
  SweepStatus() {
    std::vector<PlanSide> sides;
    for (const char* label : {"seed=1", "seed=2", "seed=3", "seed=4", "seed=5"}) {
      plan_.cases.push_back({label, "name: a\n"});
      sides.push_back({label, label, 1});
    }
    plan_.measurement = "a1";
    plan_.tasks = make_tasks(sides, Spread::kRounds, plan_.measurement);
    write_plan(folder_.path(), plan_);
    plan_ = read_plan(folder_.path());
  }

  fs::path run(size_t task) const { return folder_.path() / plan_.tasks[task].runs[0].folder; }
  void begin(size_t task) const { write_text(run(task) / kConfigFile, "name: a\n"); }
  void end(size_t task, RunEnding ending) const {
    begin(task);
    Summary summary;
    summary.ending = ending;
    write_summary(run(task), summary);
  }

  std::vector<TaskStatus> tasks() const { return status_of_tasks(folder_.path(), plan_); }
  std::vector<TaskState> states() const {
    std::vector<TaskState> found;
    for (const TaskStatus& status : tasks()) found.push_back(status.state);
    return found;
  }

  const TemporaryFolder folder_;
  SweepPlan plan_;
};

TEST_F(SweepStatus, FollowsFromTheFoldersOfTheRuns) {
  end(0, RunEnding::kComplete);
  end(1, RunEnding::kInterrupted);
  end(2, RunEnding::kDiverged);
  begin(3);
  EXPECT_THAT(states(), ElementsAre(TaskState::kDone, TaskState::kStopped, TaskState::kFailed, TaskState::kStopped,
                                    TaskState::kFree));
}

TEST_F(SweepStatus, HasTheHolderOfATask) {
  const auto claim = Claim::take(folder_.path() / kClaimsFolder, name_of_task(3));
  begin(3);
  const TaskStatus status = tasks()[3];
  EXPECT_EQ(status.state, TaskState::kAtWork);
  EXPECT_EQ(status.holder->worker, this_worker());
  EXPECT_THAT(status_text("sweeps/a", plan_, tasks()), HasSubstr(describe(this_worker())));
}

TEST_F(SweepStatus, HasTheReasonOfAFailure) {
  write_failure(folder_.path(), 1,
                {.run = plan_.tasks[1].runs[0].folder,
                 .reason = "out of memory\n  reduce",
                 .exit_code = 4,
                 .host = "node7",
                 .time = "2026-11-21T02:59:51Z"});
  EXPECT_EQ(tasks()[1].state, TaskState::kFailed);
  EXPECT_EQ(tasks()[1].failure->reason, "out of memory\n  reduce");
  expect_golden(status_text("sweeps/a", plan_, tasks()));
  remove_failure(folder_.path(), 1);
  EXPECT_EQ(tasks()[1].state, TaskState::kFree);
}

TEST_F(SweepStatus, IsShownAsATable) {
  end(0, RunEnding::kComplete);
  end(2, RunEnding::kDiverged);
  expect_golden(status_text("sweeps/a", plan_, tasks()));
}

TEST_F(SweepStatus, PrintsTheNextStep) {
  for (size_t task = 0; task < 5; ++task) end(task, RunEnding::kComplete);
  expect_golden(status_text("sweeps/a", plan_, tasks()));
  end(4, RunEnding::kDiverged);
  EXPECT_THAT(status_text("sweeps/a", plan_, tasks()), HasSubstr("sweeps/a --retry-failed\n"));
}

TEST_F(SweepStatus, IsJsonForPrograms) {
  end(0, RunEnding::kComplete);
  const Json json = parse_json(status_json(plan_, tasks()), "status");
  EXPECT_EQ(json["plan"], plan_.hash);
  EXPECT_EQ(json["tasks"].size(), 5u);
  EXPECT_EQ(json["tasks"][0]["state"], "done");
  EXPECT_EQ(json["tasks"][0]["runs"][0]["folder"], "0000-seed=1");
  EXPECT_EQ(json["tasks"][1]["state"], "free");
}

}  // namespace
}  // namespace rnnlab::testing
