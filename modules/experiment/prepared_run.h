// Everything that a run has before its first step, made in the order in which things can be refused. Nothing is written
// yet.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "experiment/experiment.h"
#include "experiment/fastest_layer.h"
#include "models/model.h"
#include "recurrent/execution_path.h"
#include "results/environment.h"
#include "results/summary.h"
#include "training/trainer.h"

namespace rnnlab {

// What an experiment asks of this process and its device, whether it trains or uses what was trained.

// UserError kUsage where the layer or the precision is not for the device.
void require_runs_on(const Experiment& experiment, c10::Device device);

// Sets threads, determinism and precision of the whole process: the last one's word counts.
void set_up_process(const Experiment& experiment);

TrainerOptions trainer_options(const Experiment& experiment, c10::Device device);

// What must be equal before the epoch times of two runs may be compared (results/summary.h, Identity): what really ran,
// never the word that was asked for where that was "auto".

// What a run has before its first update: the model holds its initial weights.
struct RunStart {
  const Experiment& experiment;
  c10::Device device;
  Placement placement;  // of the training samples, never kAutomatic
  at::Tensor order;     // (N) int64: of the samples in the first epoch
  const Dataset& dataset;
  const Model& model;
  const Environment& environment;
};

Identity make_identity(const RunStart& start);

// Which code really runs when a model trains on a device: LibTorch chooses behind one name, so the choice is watched,
// not predicted.

// Watches one forward and backward pass over the first batch. `model` must be on the device; its weights are left as
// they are, and dropout is seeded again at every epoch, so training does not notice.
ExecutionPath observe_training_path(Model& model, const Dataset& dataset, const TrainerOptions& options);

// Compiles and loads what `layer: persistent` runs for the other batch sizes of training and validation, so that no
// timed epoch waits for it. Likewise unnoticed.
void load_kernels(Model& model, const Dataset& dataset, const TrainerOptions& options);

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
