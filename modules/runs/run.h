// SPDX-License-Identifier: Apache-2.0
// Runs one experiment from its settings to its run folder: data, model, training, files. This file only determines the
// order of the steps; other files do each step. run.cpp trains; work_file.cpp writes the work for another program.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/system/locks.h"
#include "base/system/logger.h"
#include "base/system/terminal.h"
#include "base/system/warning.h"
#include "results/epoch_row.h"
#include "results/summary.h"
#include "runs/experiment.h"
#include "runs/fastest_layer.h"
#include "runs/run_context.h"
#include "train/loop/observer.h"
#include "train/loop/stop_signal.h"

namespace rnnlab {

struct RunRequest {
  std::filesystem::path out = "runs";
  std::filesystem::path folder = {};           // of the run itself, as in a planned sweep; empty: a new one in `out`
  std::vector<std::string> command_line = {};  // for environment.json
  Terminal console = {};                       // for the progress bar; Terminal{} for no bar
  std::vector<Observer*> observers = {};       // called for every run after its console and files
  std::optional<int64_t> trace_steps = {};     // steps after warm-up in trace.json; empty: no trace
  std::function<void(const std::filesystem::path&)> on_folder = {};  // called before the run begins
  std::filesystem::path previous_run =
      {};                             // of a sweep: the console does not repeat the opening of this run (opening.h)
  AutoLayers* auto_layers = nullptr;  // choices of `layer: auto` in earlier runs of the command
  MeasureSpeeds measure_speeds = rnnlab::measure_speeds;  // for numbers of threads
  std::string how_to_resume = {};                         // logged if a signal ends the process before the first step
  Turn turn = {};                                 // of the run in a measurement with repeats, without its process
  std::string program = {};                       // starts the runs of a measurement with repeats; "": this one
  std::vector<std::string> child_arguments = {};  // further arguments of `program`, such as --quiet
  WhenTaken when_taken = WhenTaken::kRefuse;      // if another process trains the run that is resumed
};

struct RunOutcome {
  std::filesystem::path folder;
  Summary summary;
  ExitCode exit_code = ExitCode::kDone;  // 128 + the number of a signal; the results are then written
};

// The logger's file is left open, so that an exception can be logged there; close it before the next run. Throws
// UserError kDevice, kData or kUsage before a folder is made if this machine or the data do not support the experiment;
// kDiverged with a folder that is complete up to that epoch. If a StopSignalGuard exists, its signals end the run after
// the present step. A signal before a folder is made throws a UserError with its exit code, or ends the process within
// two seconds if a library's call takes longer.
RunOutcome run_experiment(const Experiment& experiment, const RunRequest& request, Logger& logger);

// Holds the size of the work in a file.
struct WorkSize {
  int64_t num_train = 0;  // samples an epoch
  int64_t num_epochs = 0;
  int64_t steps_per_epoch = 0;
};

// Returns for example "60,000 training samples an epoch, 3 epochs of 469 steps".
std::string text_of(const WorkSize& size);

// Writes everything with which a run begins to one file, for another program that does the same work: the samples as
// they are fed to the network, the initial weights, the order of the samples and the learning rate of each step, all
// settings, and the machine. Such a program need not read data, draw random numbers or implement schedules.
//
// Writes a safetensors file at `out`, which docs/timing.md describes. `command_line` is for environment.json. Throws
// the UserErrors of run_experiment before it makes a folder, kUsage if only time bounds the run, and those of
// write_safetensors.
WorkSize write_work_file(const Experiment& experiment, const std::vector<std::string>& command_line,
                         const std::filesystem::path& out);

// The rest of this file is what a new run and a resumed run (resume.h) have in common.

// Holds the results of earlier parts of a resumed run; it is empty for a new run.
struct ResumedHistory {
  std::vector<EpochRow> rows = {};
  double seconds = 0;                       // spent in the earlier parts
  std::vector<std::string> notes = {};      // for the summary: at which step the run was resumed
  std::vector<Warning> past_warnings = {};  // already logged by the earlier parts; for the summary only
  std::vector<Warning> warnings = {};       // about the resume, for the summary and the log
};

enum class RunKind { kNew, kResumed };  // a resumed run keeps its saved state

// Throws a UserError with the signal's exit code if a signal came before the first step.
void throw_if_stop_requested(RunKind beginning);

// Returns a function for a StopDeadline around the work before the first step; it logs the message of
// throw_if_stop_requested().
StopDeadline::OnDeadline stop_message_before_first_step(RunKind beginning, const RunRequest& request, Logger& logger);

// Opens the logger's file and writes config.yaml and environment.json first. Throws UserError kDiverged with a folder
// that is complete up to that epoch.
RunOutcome train_run(RunContext& run, const std::filesystem::path& folder, const ResumedHistory& earlier,
                     const RunRequest& request, Logger& logger);

// Trains a prepared run on a rank that is not the first. Only the first rank writes files.
RunOutcome train_on_other_rank(RunContext& run, const RunRequest& request);

// Runs `work` as one rank of a run; if it fails, the other ranks get the reason.
RunOutcome run_as_rank(Ranks& ranks, const std::function<RunOutcome()>& work);

}  // namespace rnnlab
