// Runs one run of a sweep's file: begins it, resumes it if it was stopped, or only reports it if it has ended as its
// settings require.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/run_experiment.h"
#include "experiment/sweep_file.h"

namespace rnnlab {

// Returns the run in a folder if it has ended as its settings require.
std::optional<RunOutcome> ended_run(const std::filesystem::path& folder);

// Records the choice of `layer: auto` in a run of a sweep; the other runs get the same. If the settings of a run cannot
// be read, the error is reported when that run begins.
void remember_auto_layer(const SweepEntry& entry, AutoLayers& auto_layers);

// `source` names the sweep's file in messages; `overrides` work as in resume_experiment.
Experiment experiment_of(const SweepEntry& entry, const std::string& source, const std::vector<std::string>& overrides);

// The parameters are those of experiment_of. Throws the errors of run_experiment and resume_experiment.
RunOutcome run_entry(const SweepEntry& entry, const std::string& source, const std::vector<std::string>& overrides,
                     const RunRequest& request, Logger& logger);

}  // namespace rnnlab
