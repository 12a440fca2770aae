// SPDX-License-Identifier: Apache-2.0
// Makes everything that a run needs before its first step, in an order in which errors are found early. This step
// writes no files.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "layers/execution_path.h"
#include "results/environment.h"
#include "results/summary.h"
#include "runs/experiment.h"
#include "runs/fastest_layer.h"
#include "train/loop/trainer.h"
#include "train/models/model.h"
#include "train/ranks/ranks.h"

namespace rnnlab {

// Throws UserError kUsage if the layer or the precision does not support the device.
void require_runs_on(const Experiment& experiment, c10::Device device);

// Sets threads, determinism and precision of the whole process; a later call overrides an earlier one.
void configure_torch(const Experiment& experiment);

TrainerOptions trainer_options(const Experiment& experiment, c10::Device device);

// Describes a run before its first update: the model holds its initial weights.
struct RunStart {
  const Experiment& experiment;
  c10::Device device;
  Placement placement;  // of the training samples, never kAutomatic
  at::Tensor order;     // (N) int64: the order of the samples in the first epoch
  const Dataset& dataset;
  const Model& model;
  const Environment& environment;
};

// Returns the settings that must be equal before the epoch times of two runs may be compared (results/summary.h). The
// settings describe the actual run: "auto" is replaced by its choice.
Identity make_identity(const RunStart& start);

// Observes one forward and backward pass over the first batch and returns the code that runs, because LibTorch chooses
// among several implementations. `model` must be on the device. The pass does not change its weights, and dropout is
// seeded again at every epoch, so training is not affected.
ExecutionPath observe_training_path(Model& model, const Dataset& dataset, const TrainerOptions& options);

// Compiles and loads the kernels of `layer: persistent` for the other batch sizes of training and validation, so that
// no timed epoch waits for them. Training is not affected.
void load_kernels(Model& model, const Dataset& dataset, const TrainerOptions& options);

// A resumed run has its weights from a checkpoint, so the file of model.initial_weights may be missing.
enum class WeightsFrom { kExperiment, kCheckpoint };

// The trainer refers to other members, so this struct cannot be copied or moved.
struct RunContext {
  // Sets threads, determinism and precision of the whole process; a later RunContext overrides them. Throws UserError
  // kDevice, kData, kCheckpoint or kUsage if this machine or the data do not support the experiment. `auto_layers` has
  // the choices of `layer: auto` in earlier runs of the same command, and gets the choice of this run. `ranks` are the
  // processes that train the run, with this one; the first rank then makes the choice of `auto`.
  RunContext(const Experiment& wanted, const std::vector<std::string>& command_line,
             WeightsFrom weights = WeightsFrom::kExperiment, AutoLayers* auto_layers = nullptr,
             Ranks& ranks = sole_rank());
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  // Throws UserError kDevice if the experiment is strict and something else is used than it asks for (strict.h). The
  // constructor calls this function; call it again when CUDA graphs may have been captured.
  void refuse_fallbacks() const;

  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  c10::Device device = c10::kCPU;
  std::vector<std::string> notes;            // the choices of "auto", and their reasons
  std::string exchange_note;                 // on several processes, for the log only: the time of an exchange
  Experiment experiment;                     // with the device and the layer (auto_layer) that `auto` chose
  std::vector<std::string> memory_warnings;  // set if the run may need more than is free: memory_estimate.h
  Environment environment;
  Dataset dataset;
  TrainerOptions options;
  std::shared_ptr<Model> model;  // on the device
  std::unique_ptr<Trainer> trainer;
  Identity identity;
  ExecutionPath path;  // of one training step
};

// Loads initial weights from a safetensors file instead of drawing them. The names may be those of any layout
// (train/weights/layouts.h). Overwrites the model's parameters, or only those of its recurrent layer if the file has
// only these (the others stay unchanged). Throws UserError kCheckpoint with the tensors that are missing, different or
// unexpected, by PyTorch's names, unless all fit. A file in another layout than PyTorch's must also match the model's
// cell, reset gate and heads. A file that states the values of its categories must match `categories`, those of the
// data. Returns notes, for example that numbers of another type were converted.
std::vector<std::string> load_initial_weights(Model& model, const std::filesystem::path& file,
                                              const std::vector<CategoryColumn>& categories = {});

// Estimates the speed-up of several GPUs over one before a run of several processes begins, from the times of a pass
// over the whole batch, of a pass over one process's part, and of an exchange of the last gradients, each measured
// alone. Left out: CPUs, because processes on them share the CPUs that one process would have.
struct ScalingEstimate {
  int64_t num_processes = 1;
  double whole_seconds = 0;     // forward and backward over a batch, on one GPU
  double part_seconds = 0;      // over a process's part of it, on the slowest process
  double exchange_seconds = 0;  // for each batch: of the piece that is sent last, which no pass hides
  int64_t num_bytes = 0;        // of all gradients
  size_t num_pieces = 1;        // in which they are sent

  // Returns the speed relative to one GPU with the same batch.
  double speedup() const { return whole_seconds / (part_seconds + exchange_seconds); }
  // Returns the speed per process, relative to one GPU, if each process has a whole batch of this size.
  double weak_efficiency() const { return whole_seconds / (whole_seconds + exchange_seconds); }
};

// Returns for example "expected: 1.6 times as fast as one GPU (...)".
std::string text_of(const ScalingEstimate& estimate);

// Call this function before the first step, on all ranks; it sets run.exchange_note if the run has several processes.
void note_exchange(RunContext& run);

// Checks that all ranks train the same experiment, on the same data, from the same weights, with the same program.
// Throws UserError kUsage on every rank, with the difference, the rank, and both values.
void require_same_run(Ranks& ranks, const RunContext& run);

// Records the machines of all ranks in environment.json. All ranks must call this function.
void record_ranks(Ranks& ranks, Environment& environment);

}  // namespace rnnlab
