// SPDX-License-Identifier: Apache-2.0
// The observers of a run: its progress and rows on the console and in train.log, epochs.csv and epochs.jsonl,
// checkpoints, trace.json, TensorBoard's events, and the comparison of the weights of several processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/system/logger.h"
#include "base/system/terminal.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/epoch_log.h"
#include "results/epoch_row.h"
#include "results/epoch_table.h"
#include "results/summary.h"
#include "results/tensorboard/event_file.h"
#include "runs/experiment.h"
#include "runs/run_checkpoint.h"
#include "runs/run_context.h"
#include "train/loop/observer.h"
#include "train/loop/profiling.h"
#include "train/loop/trainer.h"

namespace rnnlab {

// Reports a run: a progress bar and a table row for each epoch on the console, and the same rows in train.log. All
// lines go through one Logger, so the bar and the lines never overlap.
class ConsoleObserver : public Observer {
 public:
  // Until the destructor runs, the bar is cleared before each line of the logger.
  ConsoleObserver(Logger& logger, const Terminal& terminal);
  ~ConsoleObserver() override;

  void on_run_begin(const RunPlan& plan) override;
  void on_epoch_begin(const TrainingState& state) override;
  void on_step(const StepProgress& progress) override;
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;

 private:
  const std::string& loss_text(const StepProgress& progress);
  double num_epochs_after(const TrainingState& state) const;
  void warn_of_undefined(const EpochRow& row);

  Logger& logger_;
  const size_t table_width_;
  ProgressBar bar_;
  RunPlan plan_;
  std::optional<EpochTable> table_;
  std::map<std::string, std::string> undefined_;  // EpochRow::undefined of earlier epochs
  std::string loss_text_;                         // of the last reading
  double seconds_of_loss_ = 0;                    // since the epoch began
  double seconds_of_validation_ = 0;              // in the epoch before
};

// Writes epochs.csv and epochs.jsonl.
class FileObserver : public Observer {
 public:
  // `rows` are those that the log already has. `on_request` are the columns of metrics that the run asks for.
  FileObserver(const std::filesystem::path& run_folder, std::vector<EpochRow> rows,
               const std::vector<std::string>& on_request)
      : log_(run_folder, on_request), rows_(std::move(rows)) {}

  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;

  // Waits until the disk has every row. Throws UserError kDevice if the disk is found to be full. Call this function
  // also for a run that diverged, which ends without on_run_end.
  void sync();

  const std::vector<EpochRow>& rows() const { return rows_; }

 private:
  EpochLog log_;
  std::vector<EpochRow> rows_;
};

// Saves a run's state according to its settings: at the ends of epochs, within epochs, after the best epoch so far, and
// always at the end of the run, however it ends. A background thread writes the files (checkpoint_folder.h). The run
// waits only for the copy to the host, and for an earlier save that has not finished.
class CheckpointObserver : public Observer {
 public:
  // The trainer must outlive this observer. `make_log_durable` is called before each save, so that no checkpoint has an
  // epoch that the log could still lose. After a failed save, any call throws UserError kDevice.
  CheckpointObserver(const std::filesystem::path& run_folder, RunFacts facts, Trainer& trainer,
                     std::function<void()> make_log_durable);

  // A resumed run is at its checkpoint, so nothing is saved before its next step.
  void on_run_begin(const RunPlan& plan) override;
  void on_step(const StepProgress& progress) override;
  bool needs_sync_at(int64_t step) const override;
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;

  // Writes the states that were taken before. Call this function for a run that diverged, which ends without
  // on_run_end.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  struct Position {
    int64_t step = 0;
    bool epoch_is_over = true;

    bool operator==(const Position&) const = default;
  };
  struct Held {
    Position position;
    Snapshot snapshot;
  };

  Position position() const { return {trainer_.state().step, trainer_.epoch_is_over()}; }
  bool is_due(const TrainingState& state) const;
  Held take() { return {position(), trainer_.snapshot()}; }
  void save(Held held, CheckpointKind standing);
  void save_held();

  CheckpointSettings settings_;
  const RunFacts facts_;  // the writer reads them at any time
  Trainer& trainer_;
  std::function<void()> make_log_durable_;
  CheckpointWriter writer_;
  Position saved_;
  Clock::time_point saved_at_ = Clock::now();
  std::optional<Held> best_;  // taken, but too soon after the last save to be written
};

// The steps of a run that the first rank traces: at least `num_steps`, from the first epoch after the warm-up. All
// ranks know them, because no rank may queue the last of them together with a later step.
class TracedSteps {
 public:
  TracedSteps(int64_t num_steps, int64_t warmup_epochs) : num_steps_(num_steps), warmup_epochs_(warmup_epochs) {}

  // Returns whether the traced steps begin with this epoch. `state` is that before its first step.
  bool begin_with(const TrainingState& state) {
    if (steps_before_ || state.epoch <= warmup_epochs_) return false;
    steps_before_ = state.step;
    return true;
  }
  bool end_at(int64_t step) const { return steps_before_ && !are_over_ && step - *steps_before_ >= num_steps_; }
  void set_over() { are_over_ = true; }
  int64_t steps_before() const { return steps_before_.value_or(0); }

 private:
  int64_t num_steps_, warmup_epochs_;
  std::optional<int64_t> steps_before_;
  bool are_over_ = false;
};

// Writes trace.json, the Chrome trace of a run's first steps after warm-up: the ranges of train/loop/profiling.h,
// LibTorch's operators within them, and the work of a GPU, on one time line. Tracing slows down the traced steps.
struct TraceRequest {
  std::filesystem::path file;
  int64_t num_steps = 0;      // at least; up to the end of the epoch if the last of them ends it
  int64_t warmup_epochs = 0;  // before the traced steps
  c10::Device device = c10::Device(c10::kCPU);
};

// Register this observer last, so that the trace includes the other observers.
class TraceObserver : public Observer {
 public:
  TraceObserver(TraceRequest request, Logger& logger);

  void on_epoch_begin(const TrainingState& state) override;
  void on_step(const StepProgress& progress) override;
  bool needs_sync_at(int64_t step) const override { return steps_.end_at(step); }
  void on_run_end(const TrainingState& state) override;

  // Call this function for a run that diverged, which ends without on_run_end. The function writes the steps so far,
  // and warns if no step was recorded. Throws UserError kDevice if the file cannot be written.
  void finish();

 private:
  void write();

  TraceRequest request_;
  Logger& logger_;
  TracedSteps steps_;
  std::optional<Profiling> profiling_;
  int64_t last_step_ = 0;
  bool is_written_ = false;
};

// Returns the tag of an epoch's column: "valid/accuracy" for valid_accuracy, "training/..." for example for the
// learning rate, "measured/..." for times; empty if the column is not a scalar of its own.
std::string scalar_tag(const EpochColumn& column);

// Returns a row as a Summary message. Columns without a value are left out.
std::string scalars_of(const EpochRow& row);

// Writes an event file for TensorBoard into the run folder: the scalars of each epoch, the settings and the end of the
// run, a graph of the model, and on request histograms of weights and gradients. Steps are epochs. A resumed run writes
// a new file, from which readers learn which epochs to drop. A file that cannot be written is an error, as for the
// other logs.
class TensorBoardObserver : public Observer {
 public:
  // `run` must outlive this observer. `first_epoch` is the first epoch to report. Any call may throw UserError kDevice.
  TensorBoardObserver(const std::filesystem::path& run_folder, const RunContext& run, int64_t first_epoch);

  void on_run_begin(const RunPlan& plan) override;
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;  // not for a run that a signal stopped: it may resume

  // Call this function for a run that diverged, which ends without on_run_end.
  void fail();

  // Adds the share of the device's best rate to each timed epoch. It is known only after the training.
  void add_shares(std::span<const EpochRow> rows, const ProductWork& work);

  void sync() { file_.sync(); }

 private:
  const RunContext& run_;
  int64_t first_epoch_;
  tensorboard::EventFile file_;
};

// Checks after every epoch, and at the steps whose state is saved, that the weights of all ranks have the same bits.
// Throws UserError kInternal with the first tensor that differs and its rank.
class WeightsObserver : public Observer {
 public:
  WeightsObserver(Ranks& ranks, const Trainer& trainer, std::optional<int64_t> steps_between_saves,
                  std::optional<TracedSteps> traced)
      : ranks_(ranks), trainer_(trainer), steps_between_saves_(steps_between_saves), traced_(traced) {}

  bool needs_sync_at(int64_t step) const override { return is_saved(step) || (traced_ && traced_->end_at(step)); }
  void on_epoch_begin(const TrainingState& state) override;
  void on_step(const StepProgress& progress) override;
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  bool writes_files() const override { return false; }

 private:
  bool is_saved(int64_t step) const { return steps_between_saves_ && step % *steps_between_saves_ == 0; }
  void compare(const std::string& when) const;

  Ranks& ranks_;
  const Trainer& trainer_;
  std::optional<int64_t> steps_between_saves_;
  std::optional<TracedSteps> traced_;
};

}  // namespace rnnlab
