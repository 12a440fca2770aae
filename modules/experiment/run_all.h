// Several experiments one after another: the combinations of a sweep, or the files of one command. One that fails is
// reported through the logger and the rest run; a signal (stop_signal.h) ends them all, whenever it comes.
#pragma once

#include <string>
#include <vector>

#include "experiment/cases.h"
#include "experiment/rounds.h"
#include "experiment/run_experiment.h"

namespace rnnlab {

// Cases with repeats are measured in rounds (rounds.h). If the CPU is busy, cases without training.num_threads get one
// number of threads together (fastest_layer.h). Several cases leave a sweep file (sweep_file.h) until all have had
// their turn. Installs a StopSignalGuard: the caller must have none.
RunAllOutcome run_all(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger);

// Goes on with a run, by its folder, or with a sweep, by its file: runs that have ended are only told of again, those
// that were stopped go on, those that were not begun are, beside the sweep's file. `overrides` as of resume_experiment.
// UserError kUsage where there is neither.
RunAllOutcome resume_all(const std::filesystem::path& run_or_sweep, const std::vector<std::string>& overrides,
                         const RunRequest& request, Logger& logger);

// One run of a sweep with repeats, in the process that its command started for it. `entry` counts from 0.
RunAllOutcome run_entry_of_sweep(const std::filesystem::path& sweep, size_t entry, const RunRequest& request,
                                 Logger& logger);

}  // namespace rnnlab
