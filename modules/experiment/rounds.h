// A measurement in rounds: in each round every case runs once, in a process of its own, and the order is drawn anew
// (results/round_order.h). What one process has for itself, such as where its memory lies, differs from round to round
// then, and what the machine does meanwhile meets all sides. The file of the sweep keeps what is needed to resume.
#pragma once

#include <string_view>
#include <vector>

#include "experiment/cases.h"
#include "experiment/command_end.h"

namespace rnnlab {

// The process of a run says so before its folder, on a line of its own: libraries may write other lines to its stdout,
// which go to that of the command.
inline constexpr std::string_view kFolderMark = "run folder: ";

// As run_all. A case that fails is left out of later rounds.
RunAllOutcome run_in_rounds(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger);

// As resume_all, with a sweep that has repeats.
RunAllOutcome resume_rounds(SweepFile& sweep, const RunRequest& request, Logger& logger);

}  // namespace rnnlab
