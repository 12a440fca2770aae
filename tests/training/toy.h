// A learnable toy: short random sequences whose class is the sign of their mean. The tests of training/ share it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "training/trainer.h"

namespace rnnlab {

// (N, 5, 3) inputs; two classes, or their number as a real target. The same samples for the same sizes and task.
Dataset toy_dataset(int64_t num_train = 96, int64_t num_valid = 32, Task task = Task::kClassification);

// One layer of 8 units, the same weights each time.
std::shared_ptr<Model> toy_model(const Dataset& dataset, LayerKind layer = LayerKind::kNaive,
                                 double output_dropout = 0.0);

TrainerOptions toy_options();

// Keeps what it sees, and calls what a test hooks in.
struct Recorder : Observer {
  void on_run_begin(const RunPlan& plan) override;
  void on_epoch_begin(const TrainingState& state) override;
  void on_step(const StepProgress& progress) override;
  bool needs_sync_at(int64_t step) const override { return looks(step); }
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;

  std::vector<std::string> calls;  // "run", "epoch 1", "step 1", "row 1", "end"
  std::vector<EpochRow> rows;
  std::vector<double> losses;  // of every step
  std::function<void(const StepProgress&)> at_step = [](const StepProgress&) {};
  std::function<bool(int64_t)> looks = [](int64_t) { return false; };
  std::function<void(const EpochRow&)> at_row = [](const EpochRow&) {};
};

// Trains a toy model and returns what was seen.
struct ToyRun {
  Recorder seen;
  TrainingState state;
  std::string weights;  // SHA-256
  std::string why_no_graphs;
};
ToyRun run_toy(const Dataset& dataset, const TrainerOptions& options, double output_dropout = 0.0,
               LayerKind layer = LayerKind::kNaive);

}  // namespace rnnlab
