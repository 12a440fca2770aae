// A measurement in rounds: in each round every case runs once, in a process of its own, and the order is drawn again
// (sweep/plan.h). What one process has for itself, such as where its memory lies, differs from round to round
// then, and what the machine does meanwhile meets all sides. The file of the sweep keeps what is needed to resume.
#pragma once

#include <exception>
#include <string_view>
#include <vector>

#include "experiment/cases.h"
#include "experiment/run_experiment.h"
#include "experiment/sweep_file.h"

namespace rnnlab {

// How a command with one run or several ends: what has finished, the exit code, and how to resume what is left.

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

// The process of a run says so before its folder, on a line of its own: libraries may write other lines to its stdout,
// which go to that of the command.
inline constexpr std::string_view kFolderMark = "run folder: ";

// As run_all. A case that fails is left out of later rounds.
RunAllOutcome run_in_rounds(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger);

// As resume_all, with a sweep that has repeats.
RunAllOutcome resume_rounds(SweepFile& sweep, const RunRequest& request, Logger& logger);

}  // namespace rnnlab
