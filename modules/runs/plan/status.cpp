// SPDX-License-Identifier: Apache-2.0
#include "runs/plan/status.h"

#include <algorithm>
#include <map>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "results/summary.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

fs::path failure_file(const fs::path& folder, int64_t task) {
  return folder / kClaimsFolder / (name_of_task(task) + ".failed");
}

// If the record cannot be read, only the fact of a failure is known.
std::optional<TaskFailure> read_failure(const fs::path& folder, int64_t task) {
  const fs::path file = failure_file(folder, task);
  if (!path_exists(file)) return std::nullopt;
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
  if (!is_file(run_folder / kConfigFile)) return RunState::kFree;
  if (!is_file(run_folder / kSummaryFile)) return RunState::kStopped;
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

fs::path reason_file(const fs::path& folder, const std::string& run) {
  return folder / kClaimsFolder / (run + ".reason");
}

void write_failure(const fs::path& folder, int64_t task, const TaskFailure& failure) {
  write_record(failure_file(folder, task), failure);
}

void remove_failure(const fs::path& folder, int64_t task) { remove_file(failure_file(folder, task)); }

namespace {

const PlannedTask& task_in(const SweepPlan& plan, const TaskStatus& status) {
  return plan.tasks.at(static_cast<size_t>(status.task));
}

std::string progress_of(const TaskStatus& status) {
  const auto num_done = std::ranges::count(status.runs, RunState::kDone);
  return fmt::format("{} of {}", num_done, status.runs.size());
}

std::string task_details(const TaskStatus& status) {
  if (status.holder && status.holder->worker.host.empty()) return "a worker whose claim cannot be read";
  if (status.holder) return fmt::format("{}, since {}", describe(status.holder->worker), status.holder->since);
  return status.failure ? first_line(status.failure->reason) : "";
}

std::string counts_text(const std::vector<TaskStatus>& tasks) {
  std::map<TaskState, int64_t> counts;
  for (const TaskStatus& status : tasks) ++counts[status.state];
  std::vector<std::string> parts;
  for (const TaskState state :
       {TaskState::kDone, TaskState::kAtWork, TaskState::kStopped, TaskState::kFailed, TaskState::kFree})
    if (counts[state] > 0) parts.push_back(fmt::format("{} {}", counts[state], config::name_of(state)));
  return join(parts, ", ");
}

bool any_is(const std::vector<TaskStatus>& tasks, TaskState state) {
  return std::ranges::any_of(tasks, [&](const TaskStatus& status) { return status.state == state; });
}

std::string next_step(const std::string& folder, const SweepPlan& plan, const std::vector<TaskStatus>& tasks) {
  const std::string quoted = shell_quoted(folder);
  const std::string where = has_hardware(plan) ? "" : " on such a machine, which this one is not";
  if (any_is(tasks, TaskState::kFree) || any_is(tasks, TaskState::kStopped))
    return fmt::format("to continue{}: rnnlab sweep work {}\n", where, quoted);
  if (any_is(tasks, TaskState::kFailed))
    return fmt::format("to try failed tasks again{}: rnnlab sweep work {} --retry-failed\n", where, quoted);
  return any_is(tasks, TaskState::kAtWork) ? "" : fmt::format("to compare: rnnlab compare {}\n", quoted);
}

Json json_of(const SweepPlan& plan, const TaskStatus& status) {
  Json json = {{"task", status.task}, {"state", std::string(config::name_of(status.state))}};
  json["runs"] = Json::array();
  for (size_t i = 0; i < status.runs.size(); ++i) {
    const PlannedRun& run = task_in(plan, status).runs[i];
    json["runs"].push_back({{"folder", run.folder},
                            {"label", plan.case_of(run).label},
                            {"round", run.round},
                            {"state", std::string(config::name_of(status.runs[i]))}});
  }
  if (status.holder) json["holder"] = to_json(*status.holder);
  if (status.failure) json["failure"] = to_json(*status.failure);
  return json;
}

// The table has space for the first line only.
std::string longer_reasons(const std::vector<TaskStatus>& tasks) {
  std::string text;
  for (const TaskStatus& status : tasks)
    if (status.state == TaskState::kFailed && status.failure &&
        first_line(status.failure->reason) != status.failure->reason)
      text += fmt::format("task {} failed: {}\n", status.task, status.failure->reason);
  return text;
}

}  // namespace

std::string status_text(const std::string& folder, const SweepPlan& plan, const std::vector<TaskStatus>& tasks) {
  TextTable table;
  table.add_column("task", Align::kRight);
  table.add_column("state", Align::kLeft);
  table.add_column("runs done", Align::kRight);
  table.add_column("first run", Align::kLeft);
  table.add_column("worker or reason", Align::kLeft);
  for (const TaskStatus& status : tasks)
    if (status.state != TaskState::kDone && status.state != TaskState::kFree)
      table.add_row({std::to_string(status.task), std::string(config::name_of(status.state)), progress_of(status),
                     task_in(plan, status).runs.at(0).folder, task_details(status)});
  const std::string rows = table.rows().empty() ? "" : table.text() + "\n";
  const std::string pin = plan.hardware.empty() ? "" : " on machines with " + join(plan.hardware, " and ");
  return fmt::format("{}{}{} of {}{}: {}\n{}", rows, longer_reasons(tasks), counted(plan.num_tasks(), "task"),
                     counted(plan.num_runs(), "run"), pin, counts_text(tasks), next_step(folder, plan, tasks));
}

std::string status_json(const SweepPlan& plan, const std::vector<TaskStatus>& tasks) {
  Json json = {{"plan", plan.hash}, {"num_tasks", plan.num_tasks()}, {"num_runs", plan.num_runs()}};
  if (!plan.hardware.empty()) json["hardware"] = to_json(plan.hardware);
  json["tasks"] = Json::array();
  for (const TaskStatus& status : tasks) json["tasks"].push_back(json_of(plan, status));
  return json_text(json);
}

}  // namespace rnnlab
