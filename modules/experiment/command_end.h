// How a command with one run or several ends: what has finished, the exit code, and how to resume what is left.
#pragma once

#include <exception>
#include <vector>

#include "experiment/run_experiment.h"
#include "experiment/sweep_file.h"

namespace rnnlab {

struct RunAllOutcome {
  std::vector<RunOutcome> finished;      // in order, one that a signal cut short included
  ExitCode exit_code = ExitCode::kDone;  // the signal's, or of the first that failed
  bool can_go_on = false;                // something was left undone that --resume can do
};

// The first failure gives the exit code. One that diverged would diverge again, any other run can be resumed.
void keep_failure(RunAllOutcome& all, ExitCode exit_code);

std::string how_to_resume(const std::filesystem::path& run_or_sweep);

// The command's runs have had their turn but for `num_left` of `count`, which a signal left undone. Tells how to
// resume, or removes the sweep's file (null: there is none).
void end_command(RunAllOutcome& all, size_t num_left, size_t count, const SweepFile* sweep, const RunRequest& request,
                 Logger& logger);

}  // namespace rnnlab
