// One experiment from its settings to its run folder: data, model, training, files. It owns the order of things and
// nothing else; every step is a module's.
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
  Terminal console;                         // where the progress bar is drawn; Terminal{} for none
  std::vector<Observer*> observers = {};    // told of every run after its own console and files
  std::optional<int64_t> trace_steps = {};  // after warm-up, in trace.json; no trace without a number
  std::function<void(const std::filesystem::path&)> on_folder = {};  // told where the run is, before it begins
  AutoLayers* auto_layers = nullptr;  // what `layer: auto` took in the command's runs until now
  MeasureSpeeds measure_speeds = {};  // of numbers of threads; by default fastest_layer.h's
  std::string how_to_resume = {};     // told to the user where a signal ends the process before the first step
  Turn turn = {};                     // of the run in a measurement with repeats, its process left out
  std::string program = {};           // that runs of a measurement with repeats are started with; "": this one
  std::vector<std::string> child_arguments = {};  // that it gets besides, such as --quiet
};

struct RunOutcome {
  std::filesystem::path folder;
  Summary summary;
  ExitCode exit_code = ExitCode::kDone;  // 128 + its number after a signal, with the results written
};

// The logger's file is left open, so that what is thrown can be logged there; close it before the next run.
// UserError kDevice, kData or kUsage before a folder is made where this machine or the data cannot do what the
// experiment asks; kDiverged with the folder complete up to that epoch. Where a StopSignalGuard lives, its signals end
// the run after the step that is under way. A signal before a folder is made is a UserError with its exit code, or ends
// the process within two seconds if a library's call takes longer.
RunOutcome run_experiment(const Experiment& experiment, const RunRequest& request, Logger& logger);

}  // namespace rnnlab
