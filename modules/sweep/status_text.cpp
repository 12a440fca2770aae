#include "sweep/status_text.h"

#include <algorithm>
#include <map>

#include "base/numbers.h"
#include "base/text.h"
#include "results/json_fields.h"
#include "results/table.h"

namespace rnnlab {
namespace {

const PlannedTask& task_in(const SweepPlan& plan, const TaskStatus& status) {
  return plan.tasks.at(static_cast<size_t>(status.task));
}

std::string progress_of(const TaskStatus& status) {
  const auto num_done = std::ranges::count(status.runs, RunState::kDone);
  return fmt::format("{} of {}", num_done, status.runs.size());
}

std::string who_or_why(const TaskStatus& status) {
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

std::string next_step(const std::string& folder, const std::vector<TaskStatus>& tasks) {
  const std::string quoted = shell_quoted(folder);
  if (any_is(tasks, TaskState::kFree) || any_is(tasks, TaskState::kStopped))
    return fmt::format("to go on: rnnlab sweep work {}\n", quoted);
  if (any_is(tasks, TaskState::kFailed))
    return fmt::format("to try failed tasks again: rnnlab sweep work {} --retry-failed\n", quoted);
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

}  // namespace

std::string status_text(const std::string& folder, const SweepPlan& plan, const std::vector<TaskStatus>& tasks) {
  TextTable table;
  table.add_column("task", Align::kRight);
  table.add_column("state", Align::kLeft);
  table.add_column("runs done", Align::kRight);
  table.add_column("first run", Align::kLeft);
  table.add_column("who, or why", Align::kLeft);
  for (const TaskStatus& status : tasks)
    if (status.state != TaskState::kDone && status.state != TaskState::kFree)
      table.add_row({std::to_string(status.task), std::string(config::name_of(status.state)), progress_of(status),
                     task_in(plan, status).runs.at(0).folder, who_or_why(status)});
  const std::string rows = table.rows().empty() ? "" : table.text() + "\n";
  return fmt::format("{}{} of {}: {}\n{}", rows, counted(plan.num_tasks(), "task"), counted(plan.num_runs(), "run"),
                     counts_text(tasks), next_step(folder, tasks));
}

std::string status_json(const SweepPlan& plan, const std::vector<TaskStatus>& tasks) {
  Json json = {{"plan", plan.hash}, {"num_tasks", plan.num_tasks()}, {"num_runs", plan.num_runs()}};
  json["tasks"] = Json::array();
  for (const TaskStatus& status : tasks) json["tasks"].push_back(json_of(plan, status));
  return json_text(json);
}

}  // namespace rnnlab
