// The state of a sweep for people, for programs and for schedulers.
#pragma once

#include <string>
#include <vector>

#include "sweep/status.h"

namespace rnnlab {

// A row for each task that is not done and was begun, counts of all, and what to do next. `folder` as the user wrote
// it.
std::string status_text(const std::string& folder, const SweepPlan& plan, const std::vector<TaskStatus>& tasks);

// Every task with its runs, indented, with a line end.
std::string status_json(const SweepPlan& plan, const std::vector<TaskStatus>& tasks);

}  // namespace rnnlab
