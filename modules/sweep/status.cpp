#include "sweep/status.h"

#include <algorithm>

#include "results/files.h"
#include "results/json_fields.h"
#include "results/run_folder.h"
#include "results/summary.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

fs::path failure_file(const fs::path& folder, int64_t task) {
  return folder / kClaimsFolder / (name_of_task(task) + ".failed");
}

// A record that cannot be read says no more than that there was a failure.
std::optional<TaskFailure> read_failure(const fs::path& folder, int64_t task) {
  const fs::path file = failure_file(folder, task);
  std::error_code unreadable;
  if (!fs::exists(file, unreadable)) return std::nullopt;
  try {
    return read_record<TaskFailure>(file);
  } catch (const UserError& error) {
    return TaskFailure{.run = "", .reason = error.what(), .exit_code = 0, .host = "", .time = ""};
  }
}

TaskFailure divergence_of(const SweepPlan& plan, const TaskStatus& status) {
  const auto found = std::ranges::find(status.runs, RunState::kDiverged);
  const auto& run = plan.tasks[static_cast<size_t>(status.task)].runs[static_cast<size_t>(found - status.runs.begin())];
  return {.run = run.folder,
          .reason = "the run diverged",
          .exit_code = static_cast<int64_t>(ExitCode::kDiverged),
          .host = "",
          .time = ""};
}

TaskState state_without_worker(const TaskStatus& status) {
  const auto all_are = [&](RunState state) {
    return std::ranges::all_of(status.runs, [&](RunState each) { return each == state; });
  };
  if (status.failure) return TaskState::kFailed;
  return all_are(RunState::kFree) ? TaskState::kFree : TaskState::kStopped;
}

}  // namespace

RunState state_of_run(const fs::path& run_folder) {
  std::error_code unreadable;
  if (!fs::is_regular_file(run_folder / kConfigFile, unreadable)) return RunState::kFree;
  if (!fs::is_regular_file(run_folder / kSummaryFile, unreadable)) return RunState::kStopped;
  const RunEnding ending = read_summary(run_folder).ending;
  if (ending == RunEnding::kComplete) return RunState::kDone;
  return ending == RunEnding::kDiverged ? RunState::kDiverged : RunState::kStopped;
}

TaskStatus status_of_task(const fs::path& folder, const SweepPlan& plan, int64_t task) {
  TaskStatus status;
  status.task = task;
  for (const PlannedRun& run : plan.tasks.at(static_cast<size_t>(task)).runs)
    status.runs.push_back(state_of_run(folder / run.folder));
  status.state = TaskState::kDone;
  if (std::ranges::all_of(status.runs, [](RunState state) { return state == RunState::kDone; })) return status;
  status.holder = holder_of(folder / kClaimsFolder, name_of_task(task));
  status.state = TaskState::kAtWork;
  if (status.holder) return status;
  status.failure = read_failure(folder, task);
  if (!status.failure && std::ranges::find(status.runs, RunState::kDiverged) != status.runs.end())
    status.failure = divergence_of(plan, status);
  status.state = state_without_worker(status);
  return status;
}

std::vector<TaskStatus> status_of_tasks(const fs::path& folder, const SweepPlan& plan) {
  std::vector<TaskStatus> all;
  for (int64_t task = 0; task < plan.num_tasks(); ++task) all.push_back(status_of_task(folder, plan, task));
  return all;
}

void write_failure(const fs::path& folder, int64_t task, const TaskFailure& failure) {
  write_record(failure_file(folder, task), failure);
}

void remove_failure(const fs::path& folder, int64_t task) { remove_file(failure_file(folder, task)); }

}  // namespace rnnlab
