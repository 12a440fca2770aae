// Commands that run the tasks of a plan by what a user has: this machine, xargs, GNU parallel, a Slurm array. Each
// engine only has to count.
#pragma once

#include <cstdint>
#include <string>

namespace rnnlab {

// Indented, a line each. `folder` as the user wrote it.
std::string launch_lines(const std::string& folder, int64_t num_tasks);

}  // namespace rnnlab
