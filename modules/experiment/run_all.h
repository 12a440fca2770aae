// Runs several experiments one after another: the combinations of a sweep, or the files of one command. An experiment
// that fails is reported through the logger and the others still run; a signal (stop_signal.h) stops them all.
#pragma once

#include <string>
#include <vector>

#include "experiment/cases.h"
#include "experiment/rounds.h"
#include "experiment/run_experiment.h"

namespace rnnlab {

// Cases with repeats are measured in rounds (rounds.h). If the CPU is busy, all cases without training.num_threads get
// the same number of threads (fastest_layer.h). Several cases have a sweep file (sweep_file.h) until all have run.
// Installs a StopSignalGuard, so the caller must not have one.
RunAllOutcome run_all(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger);

// Resumes a run, by its folder, or a sweep, by its file. Runs of a sweep that have ended are only reported again,
// stopped runs are resumed, and the others begin in the folder of the sweep's file. `overrides` work as in
// resume_experiment. Throws UserError kUsage if the path is neither a run nor a sweep.
RunAllOutcome resume_all(const std::filesystem::path& run_or_sweep, const std::vector<std::string>& overrides,
                         const RunRequest& request, Logger& logger);

// Runs one run of a sweep with repeats, in the process that the command started for it. `entry` counts from 0.
RunAllOutcome run_entry_of_sweep(const std::filesystem::path& sweep, size_t entry, const RunRequest& request,
                                 Logger& logger);

}  // namespace rnnlab
