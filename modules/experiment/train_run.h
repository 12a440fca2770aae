// Training a prepared run in its folder: observers, the path that is watched, and the summary at the end, whether the
// run ends well or diverges. The same for a new run and one that goes on.
#pragma once

#include <filesystem>

#include "experiment/earlier_part.h"
#include "experiment/prepared_run.h"
#include "experiment/run_experiment.h"

namespace rnnlab {

// UserError kInterrupted or kTerminated where a signal came before the training began.
void throw_if_asked_to_stop();

// Opens the logger's file and writes config.yaml and environment.json first. UserError kDiverged with the folder
// complete up to that epoch.
RunOutcome train_run(PreparedRun& run, const std::filesystem::path& folder, const EarlierPart& earlier,
                     const RunRequest& request, Logger& logger);

}  // namespace rnnlab
