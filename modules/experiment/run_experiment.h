// Runs one experiment from its settings to its run folder: data, model, training, files. This file only determines the
// order of the steps; other modules do each step.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "experiment/experiment.h"
#include "experiment/fastest_layer.h"
#include "results/summary.h"
#include "system/logger.h"
#include "system/terminal.h"
#include "training/observer.h"

namespace rnnlab {

struct RunRequest {
  std::filesystem::path out = "runs";
  std::filesystem::path folder = {};        // of the run itself, as in a planned sweep; empty: a new one in `out`
  std::vector<std::string> command_line;    // for environment.json
  Terminal console;                         // for the progress bar; Terminal{} for no bar
  std::vector<Observer*> observers = {};    // called for every run after its console and files
  std::optional<int64_t> trace_steps = {};  // steps after warm-up in trace.json; empty: no trace
  std::function<void(const std::filesystem::path&)> on_folder = {};  // called before the run begins
  AutoLayers* auto_layers = nullptr;              // choices of `layer: auto` in earlier runs of the command
  MeasureSpeeds measure_speeds = {};              // for numbers of threads; by default that of fastest_layer.h
  std::string how_to_resume = {};                 // logged if a signal ends the process before the first step
  Turn turn = {};                                 // of the run in a measurement with repeats, without its process
  std::string program = {};                       // starts the runs of a measurement with repeats; "": this one
  std::vector<std::string> child_arguments = {};  // further arguments of `program`, such as --quiet
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

}  // namespace rnnlab
