// Everything that a run has before its first step, made in the order in which things can be refused. Nothing is written
// yet.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/fastest_layer.h"
#include "recurrent/execution_path.h"
#include "results/environment.h"
#include "results/summary.h"
#include "training/trainer.h"

namespace rnnlab {

// A run that goes on has its weights from a checkpoint: the file of model.initial_weights need not be there any more.
enum class WeightsFrom { kExperiment, kCheckpoint };

// The trainer refers to its neighbours, so this stays where it was made.
struct PreparedRun {
  // Sets threads, determinism and precision of the whole process: the last one's word counts.
  // UserError kDevice, kData, kCheckpoint or kUsage where this machine or the data cannot do what is asked.
  // `auto_layers` has what `layer: auto` took in earlier runs of the same command, and gets what it takes here.
  // `ranks`: those that train it with this process, or null; what `auto` takes is then the first one's choice.
  PreparedRun(const Experiment& wanted, const std::vector<std::string>& command_line,
              WeightsFrom weights = WeightsFrom::kExperiment, AutoLayers* auto_layers = nullptr,
              Ranks* ranks = nullptr);
  PreparedRun(const PreparedRun&) = delete;
  PreparedRun& operator=(const PreparedRun&) = delete;

  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  c10::Device device;
  std::vector<std::string> notes;  // what was chosen for the user, and why
  std::string exchange_note;       // for the log alone, of a run of several processes: what its exchange takes
  Experiment experiment;           // with the device and the layer (auto_layer) that `auto` came to
  std::vector<std::string> memory_warnings;  // the run may need more than is free: memory_estimate.h
  Environment environment;
  Dataset dataset;
  TrainerOptions options;
  std::shared_ptr<Model> model;  // on the device
  Trainer trainer;
  Identity identity;
  ExecutionPath path;  // of one training step
};

}  // namespace rnnlab
