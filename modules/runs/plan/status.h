// SPDX-License-Identifier: Apache-2.0
// Reads the progress of the tasks of a plan from the folders of their runs, claims and records of failures. Reading
// changes no files, so everyone who can read the folder may ask at any time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/config/enum_names.h"
#include "base/error.h"
#include "base/fields.h"
#include "runs/plan/claim.h"
#include "runs/plan/plan.h"

namespace rnnlab {

enum class RunState { kFree, kStopped, kDone, kDiverged };

enum class TaskState {
  kFree,     // no worker has begun it
  kAtWork,   // a process works on it
  kStopped,  // begun, but no process works on it; the next worker resumes it
  kFailed,   // a run ended with an error
  kDone
};

RNNLAB_ENUM_NAMES(RunState, {kFree, "free"}, {kStopped, "stopped"}, {kDone, "done"}, {kDiverged, "diverged"});

RNNLAB_ENUM_NAMES(TaskState, {kFree, "free"}, {kAtWork, "at work"}, {kStopped, "stopped"}, {kFailed, "failed"},
                  {kDone, "done"});

// Describes the failure of the last attempt at a task, in the file <plan>/claims/0007.failed.
struct TaskFailure {
  int64_t schema_version = kFileVersion;
  std::string run;  // its folder within the folder of the plan
  std::string reason;
  int64_t exit_code = 0;
  std::string host;
  std::string time;  // "2026-11-21T02:59:51Z"

  RNNLAB_FIELDS(schema_version, run, reason, exit_code, host, time)
};

struct TaskStatus {
  int64_t task = 0;
  TaskState state = TaskState::kFree;
  std::vector<RunState> runs;          // in the order of the task
  std::optional<ClaimRecord> holder;   // of a task on which a process works
  std::optional<TaskFailure> failure;  // of a task that failed
};

// Returns the state by the files of the run. Throws UserError kData if the run's summary is damaged.
RunState state_of_run(const std::filesystem::path& run_folder);

TaskStatus status_of_task(const std::filesystem::path& folder, const SweepPlan& plan, int64_t task);
std::vector<TaskStatus> status_of_tasks(const std::filesystem::path& folder, const SweepPlan& plan);

// The file in which the process of a planned run leaves the reason of its failure for its worker.
std::filesystem::path reason_file(const std::filesystem::path& folder, const std::string& run);

// Only the holder of the claim on the task may call these functions.
void write_failure(const std::filesystem::path& folder, int64_t task, const TaskFailure& failure);
void remove_failure(const std::filesystem::path& folder, int64_t task);

// Returns the state of a sweep for people: a row for each task that was begun and is not done, counts of all tasks, and
// the next step. `folder` is as the user wrote it.
std::string status_text(const std::string& folder, const SweepPlan& plan, const std::vector<TaskStatus>& tasks);

// Returns the state for programs: every task with its runs, indented, with a line end.
std::string status_json(const SweepPlan& plan, const std::vector<TaskStatus>& tasks);

}  // namespace rnnlab
