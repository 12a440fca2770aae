// Training a prepared run in its folder: observers, the path that is watched, and the summary at the end, whether the
// run ends well or diverges. The same for a new run and one that goes on.
#pragma once

#include <filesystem>
#include <functional>

#include "experiment/earlier_part.h"
#include "experiment/prepared_run.h"
#include "experiment/run_experiment.h"
#include "training/stop_signal.h"

namespace rnnlab {

enum class Beginning { kNew, kResumed };  // a resumed run keeps what it had saved

// UserError with the signal's exit code if one came before the first step.
void throw_if_asked_to_stop(Beginning beginning);

// For a StopDeadline around what a run does before its first step: the message of throw_if_asked_to_stop(), logged.
StopDeadline::LastWords words_before_first_step(Beginning beginning, const RunRequest& request, Logger& logger);

// Opens the logger's file and writes config.yaml and environment.json first. UserError kDiverged with the folder
// complete up to that epoch.
RunOutcome train_run(PreparedRun& run, const std::filesystem::path& folder, const EarlierPart& earlier,
                     const RunRequest& request, Logger& logger);

// A prepared run in another process than the first of those that train it together, which alone writes files.
RunOutcome train_beside_first(PreparedRun& run, const RunRequest& request);

// What a process of several does: when it fails, the others are told why. `ranks` may be null.
RunOutcome as_rank(Ranks* ranks, const std::function<RunOutcome()>& work);

}  // namespace rnnlab
