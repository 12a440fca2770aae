// Several experiments one after another: the combinations of a sweep, or the files of one command. One that fails is
// reported through the logger and the rest run; a signal (stop_signal.h) ends them all, whenever it comes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/document.h"
#include "experiment/run_experiment.h"

namespace rnnlab {

struct ExperimentCase {
  std::string label;  // "device=cpu layer=naive"; "" where there is nothing to tell apart
  Experiment experiment;
  std::map<std::string, config::Place> places;  // of the keys that are set, for messages
};

// Every combination that the document's sweep asks for, or the one experiment that it is.
std::vector<ExperimentCase> read_cases(const config::Document& document, config::Findings& findings);

struct RunAllOutcome {
  std::vector<RunOutcome> finished;      // in order, one that a signal cut short included
  ExitCode exit_code = ExitCode::kDone;  // the signal's, or of the first that failed
  bool can_go_on = false;                // something was left undone that --resume can do
};

// If the CPU is busy, cases without training.num_threads get one number of threads together (thread_choice.h).
// Several cases leave a sweep file (sweep_file.h) until all have had their turn. Installs a StopSignalGuard: the caller
// must have none.
RunAllOutcome run_all(const std::vector<ExperimentCase>& cases, const RunRequest& request, Logger& logger);

// Goes on with a run, by its folder, or with a sweep, by its file: runs that have ended are only told of again, those
// that were stopped go on, those that were not begun are, beside the sweep's file. `overrides` as of resume_experiment.
// UserError kUsage where there is neither.
RunAllOutcome resume_all(const std::filesystem::path& run_or_sweep, const std::vector<std::string>& overrides,
                         const RunRequest& request, Logger& logger);

}  // namespace rnnlab
