// Runs the tasks of a plan. A worker claims a task, starts a process for each of its runs, one after another, and
// releases the task when it is done, failed or stopped. Every command here may be repeated at any time, on any machine
// that can access the folder: finished runs are not changed, and stopped runs are resumed.
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

// A run's process prints this mark before the reason of a failure, on one line of its stdout.
inline constexpr std::string_view kFailureMark = "run failed: ";

// Runs one run of a plan, in the process that its worker started for it. The run begins or resumes in the folder that
// the plan names; a run that has ended is not trained again. `folder` is that of the plan; `task` and `position` count
// from 0. Returns the exit code of the run; a failure is logged and passed to `on_failure`. Installs a StopSignalGuard,
// so the caller must not have one. Throws UserError kUsage if the plan has no such run.
ExitCode run_planned(const std::filesystem::path& folder, int64_t task, int64_t position, RunRequest request,
                     Logger& logger, const std::function<void(const std::string&)>& on_failure);

struct TaskRequest {
  std::filesystem::path folder;                   // of the plan
  std::string program = {};                       // that starts the runs; "": this one
  std::vector<std::string> child_arguments = {};  // further arguments of `program`, such as --quiet
  ClaimTiming timing = {};
};

enum class FailedTasks { kLeave, kRetry };               // tasks that failed before; each is tried once
enum class TasksElsewhere { kLeave, kWaitForTheirEnd };  // with kWait..., tasks of dead workers are taken over

// Runs exactly this task. Returns kDone also if the task was done before, kAtWorkElsewhere if another process works on
// the task, the code of the signal that stopped the task, else the exit code of the task's first run that failed. A
// task that failed before is tried again. Throws UserError kUsage if the plan has no such task. Installs a
// StopSignalGuard, so the caller must not have one.
ExitCode run_task(const SweepPlan& plan, int64_t task, TasksElsewhere elsewhere, const TaskRequest& request,
                  Logger& logger);

// Runs the tasks `first`, `first` + `step` and so on. The first failure gives the exit code, else kAtWorkElsewhere if
// another process works on one of them.
ExitCode run_every_nth_task(const SweepPlan& plan, int64_t first, int64_t step, TasksElsewhere elsewhere,
                            const TaskRequest& request, Logger& logger);

// Repeatedly takes the next task on which no process works, until none is left. Ends after three failures in a row that
// are due to the machine and not to a run's settings or data, so that one broken machine does not use up the sweep.
ExitCode work_on_tasks(const SweepPlan& plan, FailedTasks failed, TasksElsewhere elsewhere, const TaskRequest& request,
                       Logger& logger);

}  // namespace rnnlab
