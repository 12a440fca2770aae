// One run of a plan, in the process that its worker started for it. It begins in the folder that the plan names, or
// resumes there; what has ended is not trained again.
#pragma once

#include <string_view>

#include "experiment/run_experiment.h"
#include "sweep/plan.h"

namespace rnnlab {

// The process says so before why its run failed, on one line of its stdout.
inline constexpr std::string_view kFailureMark = "run failed: ";

// `folder` is that of the plan; `task` and `position` count from 0. Returns the exit code of the run, whose failure is
// logged and handed to `on_failure`. Installs a StopSignalGuard: the caller must have none. UserError kUsage if the
// plan has no such run.
ExitCode run_planned(const std::filesystem::path& folder, int64_t task, int64_t position, RunRequest request,
                     Logger& logger, const std::function<void(const std::string&)>& on_failure);

}  // namespace rnnlab
