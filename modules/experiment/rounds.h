// Measures in rounds: in each round every case runs once, in a process of its own, and the order is drawn again
// (sweep/plan.h). So properties of one process, such as its memory addresses, vary between rounds, and other load of
// the machine affects all cases. The file of the sweep keeps what is needed to resume.
#pragma once

#include <exception>
#include <string_view>
#include <vector>

#include "experiment/cases.h"
#include "experiment/run_experiment.h"
#include "experiment/sweep_file.h"

namespace rnnlab {

// Describes the end of a command with one run or several: the finished runs, the exit code, and whether the rest can be
// resumed.
struct RunAllOutcome {
  std::vector<RunOutcome> finished;      // in order, including one that a signal interrupted
  ExitCode exit_code = ExitCode::kDone;  // of the signal, or of the first run that failed
  bool can_go_on = false;                // --resume can do the unfinished part
};

// The first failure gives the exit code. A run that diverged would diverge again; any other run can be resumed.
void keep_failure(RunAllOutcome& all, ExitCode exit_code);

std::string how_to_resume(const std::filesystem::path& run_or_sweep);

// Call this function when the command has run all of its runs except `num_left` of `count`, which a signal prevented.
// The function logs how to resume these runs, or removes the sweep's file (null: there is none).
void end_command(RunAllOutcome& all, size_t num_left, size_t count, const SweepFile* sweep, const RunRequest& request,
                 Logger& logger);

// A run's process prints this mark before its folder, on a separate line of its stdout, because libraries may print
// other lines there; those lines are copied to the stdout of the command.
inline constexpr std::string_view kFolderMark = "run folder: ";

// Does what run_all does, for cases with repeats. A case that fails is left out of later rounds.
RunAllOutcome run_in_rounds(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger);

// Does what resume_all does, for a sweep that has repeats.
RunAllOutcome resume_rounds(SweepFile& sweep, const RunRequest& request, Logger& logger);

}  // namespace rnnlab
