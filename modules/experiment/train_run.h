// Trains a prepared run in its folder: observers, the observed execution path, and the summary at the end, whether the
// run ends well or diverges. The code is the same for a new run and a resumed run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiment/prepared_run.h"
#include "experiment/run_experiment.h"
#include "recurrent/execution_path.h"
#include "results/epoch_row.h"
#include "system/logger.h"
#include "system/warning.h"
#include "training/stop_signal.h"

namespace rnnlab {

// Holds the results of earlier parts of a resumed run; it is empty for a new run.
struct ResumedHistory {
  std::vector<EpochRow> rows = {};
  double seconds = 0;                       // spent in the earlier parts
  std::vector<std::string> notes = {};      // for the summary: at which step the run was resumed
  std::vector<Warning> past_warnings = {};  // already logged by the earlier parts; for the summary only
  std::vector<Warning> warnings = {};       // about the resume, for the summary and the log
};

// Logs the lines before the first epoch: folder, device, layer, precision and data. Observers log the rows of the
// epochs.
void log_opening(const PreparedRun& run, const std::filesystem::path& folder, Logger& logger);

// Logs the notes indented below the line before.
void log_notes(const std::vector<std::string>& notes, Logger& logger);

void log_path(const ExecutionPath& path, Logger& logger);

// begin_summary returns what is known when the training begins; finish_summary adds what is known at its end, whether
// the run ends well or diverges.
Summary begin_summary(const PreparedRun& run, const ResumedHistory& earlier, const RunRequest& request);

// `rows` are those of all parts of the run. `stop_reason` is the reason of the end in words.
void finish_summary(Summary& summary, const PreparedRun& run, const std::vector<EpochRow>& rows,
                    const ResumedHistory& earlier, RunEnding ending, const std::string& stop_reason);

// Returns notes on what training.cuda_graph did; nothing if it is off.
std::vector<std::string> graph_notes(const PreparedRun& run);

enum class Beginning { kNew, kResumed };  // a resumed run keeps its saved state

// Throws a UserError with the signal's exit code if a signal came before the first step.
void throw_if_asked_to_stop(Beginning beginning);

// Returns a function for a StopDeadline around the work before the first step; it logs the message of
// throw_if_asked_to_stop().
StopDeadline::LastWords words_before_first_step(Beginning beginning, const RunRequest& request, Logger& logger);

// Opens the logger's file and writes config.yaml and environment.json first. Throws UserError kDiverged with a folder
// that is complete up to that epoch.
RunOutcome train_run(PreparedRun& run, const std::filesystem::path& folder, const ResumedHistory& earlier,
                     const RunRequest& request, Logger& logger);

// Trains a prepared run on a rank that is not the first. Only the first rank writes files.
RunOutcome train_beside_first(PreparedRun& run, const RunRequest& request);

// Runs `work` as one rank of a run; if it fails, the other ranks get the reason. `ranks` may be null.
RunOutcome as_rank(Ranks* ranks, const std::function<RunOutcome()>& work);

}  // namespace rnnlab
