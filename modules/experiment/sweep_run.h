// One run of a sweep's file: begun where it has not, resumed where it was stopped, and only told of again once it has
// ended as its settings want.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/run_experiment.h"
#include "experiment/sweep_file.h"

namespace rnnlab {

// The run in a folder if it has ended as its settings want.
std::optional<RunOutcome> ended_run(const std::filesystem::path& folder);

// What `layer: auto` took in a run of a sweep; the others get the same. A run whose settings cannot be read is told of
// when its turn comes.
void remember_auto_layer(const SweepEntry& entry, AutoLayers& auto_layers);

// `source` names the sweep's file in messages; `overrides` as of resume_experiment.
Experiment experiment_of(const SweepEntry& entry, const std::string& source, const std::vector<std::string>& overrides);

// As experiment_of. Throws what run_experiment and
// resume_experiment throw.
RunOutcome run_entry(const SweepEntry& entry, const std::string& source, const std::vector<std::string>& overrides,
                     const RunRequest& request, Logger& logger);

}  // namespace rnnlab
