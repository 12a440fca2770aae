// What a run's log says before the first epoch: where it runs, on what, with which layer, precision and data. The rows
// of the epochs are the observers'.
#pragma once

#include <filesystem>

#include "experiment/prepared_run.h"
#include "recurrent/execution_path.h"
#include "results/logger.h"

namespace rnnlab {

void log_opening(const PreparedRun& run, const std::filesystem::path& folder, Logger& logger);

// Indented below the line before.
void log_notes(const std::vector<std::string>& notes, Logger& logger);

void log_path(const ExecutionPath& path, Logger& logger);

}  // namespace rnnlab
