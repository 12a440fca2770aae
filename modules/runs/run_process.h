// SPDX-License-Identifier: Apache-2.0
// Runs one run and records how it ended: in this process, or in a process of its own, which gets the name of the run
// in a book, that is a sweep's file (sweep_file.h) or a plan (sweep/plan.h). Such a process answers by its exit code
// and by files: it enters the folder of the run into the sweep's file, and the reason of a failure into the plan's
// claims.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/system/logger.h"
#include "runs/child_process.h"
#include "runs/experiment.h"
#include "runs/run.h"

namespace rnnlab {

// Describes the end of a command with one run or several: the finished runs, the exit code, and whether the rest can be
// resumed.
struct RunAllOutcome {
  std::vector<RunOutcome> finished;      // in order, including one that a signal interrupted
  ExitCode exit_code = ExitCode::kDone;  // of the signal, or of the first run that failed
  bool can_resume = false;               // --resume can do the unfinished part
  std::string reason = {};               // of the last failure that this process reported
  std::string beyond_network = {};       // why this process ended, if it cannot reach rank 0, which else reports it
};

// The first failure gives the exit code. A run that diverged would diverge again; any other run can be resumed.
void record_failure(RunAllOutcome& all, ExitCode exit_code);

// Runs a run in this process; reports a failure through the logger. Returns whether there is an outcome.
bool run_here(const std::function<RunOutcome()>& run, RunAllOutcome& all, Logger& logger);

struct RunOfBook {
  std::filesystem::path book;  // a plan, a sweep's file, or the folder of a run, which is resumed
  std::string run;             // the name of its folder in a plan; the number of its entry in a sweep's file, from 0
};

// Runs the run in a process of its own, or in several if `experiment` asks for them (run_processes). `arguments` are
// added to those of the request. Returns the exit code of the run.
ExitCode run_in_process(const RunOfBook& run, const Experiment& experiment, const std::vector<std::string>& arguments,
                        const RunRequest& request, const MustEnd& must_end = {});

// Does the work of such a process: begins the run or resumes it; a run that has ended is not trained again. `overrides`
// are settings of a run that is resumed, or those that depend on the machine for a planned run that begins. Installs a
// StopSignalGuard, so the caller must not have one.
ExitCode run_of_book(const RunOfBook& run, const std::vector<std::string>& overrides, const RunRequest& request,
                     Logger& logger);

}  // namespace rnnlab
