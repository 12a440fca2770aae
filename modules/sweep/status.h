// How far the tasks of a plan are, by what stands in the folders of their runs, in claims and in records of failures.
// Reading changes nothing, so anybody who sees the folder may look at any time.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/enum_names.h"
#include "sweep/claim.h"
#include "sweep/plan.h"

namespace rnnlab {

enum class RunState { kFree, kStopped, kDone, kDiverged };

enum class TaskState {
  kFree,     // nobody has begun it
  kAtWork,   // a process works on it
  kStopped,  // it was begun, and nobody works on it; the next worker resumes it
  kFailed,   // a run ended with an error
  kDone
};

template <>
struct config::EnumNames<RunState> {
  static constexpr std::array<std::pair<RunState, std::string_view>, 4> kNames = {{{RunState::kFree, "free"},
                                                                                   {RunState::kStopped, "stopped"},
                                                                                   {RunState::kDone, "done"},
                                                                                   {RunState::kDiverged, "diverged"}}};
};

template <>
struct config::EnumNames<TaskState> {
  static constexpr std::array<std::pair<TaskState, std::string_view>, 5> kNames = {{{TaskState::kFree, "free"},
                                                                                    {TaskState::kAtWork, "at work"},
                                                                                    {TaskState::kStopped, "stopped"},
                                                                                    {TaskState::kFailed, "failed"},
                                                                                    {TaskState::kDone, "done"}}};
};

// Of the last attempt at a task: <plan>/claims/0007.failed.
struct TaskFailure {
  int64_t schema_version = kFileVersion;
  std::string run;  // its folder within that of the plan
  std::string reason;
  int64_t exit_code = 0;
  std::string host;
  std::string time;  // "2026-11-21T02:59:51Z"

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("schema_version", self.schema_version);
    field("run", self.run);
    field("reason", self.reason);
    field("exit_code", self.exit_code);
    field("host", self.host);
    field("time", self.time);
  }
};

struct TaskStatus {
  int64_t task = 0;
  TaskState state = TaskState::kFree;
  std::vector<RunState> runs;          // in the order of the task
  std::optional<ClaimRecord> holder;   // of a task that is at work
  std::optional<TaskFailure> failure;  // of a task that failed
};

// By its files. UserError kData if its summary is damaged.
RunState state_of_run(const std::filesystem::path& run_folder);

TaskStatus status_of_task(const std::filesystem::path& folder, const SweepPlan& plan, int64_t task);
std::vector<TaskStatus> status_of_tasks(const std::filesystem::path& folder, const SweepPlan& plan);

// For who holds the claim on the task.
void write_failure(const std::filesystem::path& folder, int64_t task, const TaskFailure& failure);
void remove_failure(const std::filesystem::path& folder, int64_t task);

// The state of a sweep for people, for programs and for schedulers.

// A row for each task that is not done and was begun, counts of all, and what to do next. `folder` as the user wrote
// it.
std::string status_text(const std::string& folder, const SweepPlan& plan, const std::vector<TaskStatus>& tasks);

// Every task with its runs, indented, with a line end.
std::string status_json(const SweepPlan& plan, const std::vector<TaskStatus>& tasks);

}  // namespace rnnlab
