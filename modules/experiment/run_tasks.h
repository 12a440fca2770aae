// Working on the tasks of a plan. A worker claims a task, starts a process for each of its runs, one after another, and
// lets the task go when it is done, failed or stopped. Every command here may be given again at any time, on any
// machine that sees the folder: what is done stays as it is, and what was stopped resumes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "experiment/run_experiment.h"
#include "sweep/claim.h"
#include "sweep/plan.h"
#include "system/logger.h"

namespace rnnlab {

// One run of a plan, in the process that its worker started for it. It begins in the folder that the plan names, or
// resumes there; what has ended is not trained again.

// The process says so before why its run failed, on one line of its stdout.
inline constexpr std::string_view kFailureMark = "run failed: ";

// `folder` is that of the plan; `task` and `position` count from 0. Returns the exit code of the run, whose failure is
// logged and handed to `on_failure`. Installs a StopSignalGuard: the caller must have none. UserError kUsage if the
// plan has no such run.
ExitCode run_planned(const std::filesystem::path& folder, int64_t task, int64_t position, RunRequest request,
                     Logger& logger, const std::function<void(const std::string&)>& on_failure);

struct TaskRequest {
  std::filesystem::path folder;                   // of the plan
  std::string program = {};                       // that runs are started with; "": this one
  std::vector<std::string> child_arguments = {};  // that it gets besides, such as --quiet
  ClaimTiming timing = {};
};

enum class FailedTasks { kLeave, kRetry };               // those that failed before; each is tried once
enum class TasksElsewhere { kLeave, kWaitForTheirEnd };  // with kWait..., tasks of workers that die are taken over

// Exactly this task. Returns kDone also if it was done before, kAtWorkElsewhere if another process works on it, the
// code of the signal that stopped it, and else how its first run that failed ended. A task that failed before is tried
// again. UserError kUsage if the plan has no such task. Installs a StopSignalGuard: the caller must have none.
ExitCode run_task(const SweepPlan& plan, int64_t task, TasksElsewhere elsewhere, const TaskRequest& request,
                  Logger& logger);

// The tasks `first`, `first` + `step` and so on. The first failure gives the exit code, else kAtWorkElsewhere if
// another process works on one of them.
ExitCode run_every_nth_task(const SweepPlan& plan, int64_t first, int64_t step, TasksElsewhere elsewhere,
                            const TaskRequest& request, Logger& logger);

// Takes the next task that nobody works on until none is left. It ends after three failures in a row that come from the
// machine and not from a run's settings or data, so that one broken machine does not use up the sweep.
ExitCode work_on_tasks(const SweepPlan& plan, FailedTasks failed, TasksElsewhere elsewhere, const TaskRequest& request,
                       Logger& logger);

}  // namespace rnnlab
