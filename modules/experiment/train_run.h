// Training a prepared run in its folder: observers, the path that is watched, and the summary at the end, whether the
// run ends well or diverges. The same for a new run and one that goes on.
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

// What the parts of a run before this one left; nothing for a new run.

struct ResumedHistory {
  std::vector<EpochRow> rows = {};
  double seconds = 0;                       // that they took
  std::vector<std::string> notes = {};      // for the summary: where the run was taken up
  std::vector<Warning> past_warnings = {};  // of those parts, for the summary: none is news
  std::vector<Warning> warnings = {};       // of taking it up: for the summary and the log
};

// What a run's log says before the first epoch: where it runs, on what, with which layer, precision and data. The rows
// of the epochs are the observers'.

void log_opening(const PreparedRun& run, const std::filesystem::path& folder, Logger& logger);

// Indented below the line before.
void log_notes(const std::vector<std::string>& notes, Logger& logger);

void log_path(const ExecutionPath& path, Logger& logger);

// A run's summary: what is known when the training begins, and what its end adds, whether it ends well or diverges.

Summary begin_summary(const PreparedRun& run, const ResumedHistory& earlier, const RunRequest& request);

// rows: of all parts. stop_reason: the ending in words.
void finish_summary(Summary& summary, const PreparedRun& run, const std::vector<EpochRow>& rows,
                    const ResumedHistory& earlier, RunEnding ending, const std::string& stop_reason);

// What became of training.cuda_graph; nothing where it is off.
std::vector<std::string> graph_notes(const PreparedRun& run);

enum class Beginning { kNew, kResumed };  // a resumed run keeps what it had saved

// UserError with the signal's exit code if one came before the first step.
void throw_if_asked_to_stop(Beginning beginning);

// For a StopDeadline around what a run does before its first step: the message of throw_if_asked_to_stop(), logged.
StopDeadline::LastWords words_before_first_step(Beginning beginning, const RunRequest& request, Logger& logger);

// Opens the logger's file and writes config.yaml and environment.json first. UserError kDiverged with the folder
// complete up to that epoch.
RunOutcome train_run(PreparedRun& run, const std::filesystem::path& folder, const ResumedHistory& earlier,
                     const RunRequest& request, Logger& logger);

// A prepared run in another process than the first of those that train it together, which alone writes files.
RunOutcome train_beside_first(PreparedRun& run, const RunRequest& request);

// What a process of several does: when it fails, the others are told why. `ranks` may be null.
RunOutcome as_rank(Ranks* ranks, const std::function<RunOutcome()>& work);

}  // namespace rnnlab
