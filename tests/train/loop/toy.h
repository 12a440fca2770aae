// SPDX-License-Identifier: Apache-2.0
// Defines a small problem that can be learned: short random sequences whose class is the sign of their mean. The tests
// of training/ share it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/loop/trainer.h"

namespace rnnlab {

// Returns (N, 5, 3) inputs, with two classes or the class number as a real target. Equal sizes and tasks give equal
// samples.
Dataset toy_dataset(int64_t num_train = 96, int64_t num_valid = 32, Task task = Task::kClassification);

// Returns one layer of 8 units, with the same weights each time.
std::shared_ptr<Model> toy_model(const Dataset& dataset, LayerKind layer = LayerKind::kNaive,
                                 double output_dropout = 0.0);

TrainerOptions toy_options();

// Returns the defaults with this loss.
TrainingSettings with_loss(LossKind loss);

// Records its calls, and calls functions that a test sets.
struct Recorder : Observer {
  void on_run_begin(const RunPlan& plan) override;
  void on_epoch_begin(const TrainingState& state) override;
  void on_step(const StepProgress& progress) override;
  bool needs_sync_at(int64_t step) const override { return needs_sync(step); }
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;

  std::vector<std::string> calls;  // "run", "epoch 1", "step 1", "row 1", "end"
  std::vector<EpochRow> rows;
  std::vector<double> losses;  // of every step
  std::function<void(const StepProgress&)> at_step = [](const StepProgress&) {};
  std::function<bool(int64_t)> needs_sync = [](int64_t) { return false; };
  std::function<void(const EpochRow&)> at_row = [](const EpochRow&) {};
};

// Holds the result of training a toy model.
struct ToyRun {
  Recorder seen;
  TrainingState state;
  std::string weights;  // SHA-256
  std::string why_no_graphs;
};
ToyRun run_toy(const Dataset& dataset, const TrainerOptions& options, double output_dropout = 0.0,
               LayerKind layer = LayerKind::kNaive);

}  // namespace rnnlab
