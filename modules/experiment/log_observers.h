// What a person and the run folder see of a run: the progress bar and a table row an epoch on the console, the same in
// train.log, and epochs.csv / epochs.jsonl. Everything goes through the one Logger, so nothing is drawn across a line.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "checkpoint/checkpoint_folder.h"
#include "experiment/experiment.h"
#include "experiment/run_checkpoint.h"
#include "results/epoch_log.h"
#include "results/epoch_text.h"
#include "system/logger.h"
#include "system/terminal.h"
#include "training/observer.h"
#include "training/trainer.h"

namespace rnnlab {

class ConsoleObserver : public Observer {
 public:
  // The bar makes way for the logger's lines as long as this lives.
  ConsoleObserver(Logger& logger, const Terminal& terminal);
  ~ConsoleObserver() override;

  void on_run_begin(const RunPlan& plan) override;
  void on_epoch_begin(const TrainingState& state) override;
  void on_step(const StepProgress& progress) override;
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;

 private:
  const std::string& loss_text(const StepProgress& progress);

  Logger& logger_;
  ProgressBar bar_;
  RunPlan plan_;
  std::optional<EpochTable> table_;
  std::string loss_text_;       // of the last reading
  double seconds_of_loss_ = 0;  // since the epoch began
};

class FileObserver : public Observer {
 public:
  // `rows`: what the log holds already.
  FileObserver(const std::filesystem::path& run_folder, std::vector<EpochRow> rows)
      : log_(run_folder), rows_(std::move(rows)) {}

  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;

  // Until the disk has every row. UserError kDevice where it was found full only now. For a run that ends without
  // on_run_end, too: it diverged.
  void sync();

  const std::vector<EpochRow>& rows() const { return rows_; }

 private:
  EpochLog log_;
  std::vector<EpochRow> rows_;
};

// Saves a run's state when its settings say so: at the ends of epochs, within them, when an epoch is the best so far,
// and always at the end of the run, however it ends. Files are written on a background thread (checkpoint_folder.h):
// the run waits for the copy to the host alone, and for a save before that is still under way.

class CheckpointObserver : public Observer {
 public:
  // The trainer must outlive this. `make_log_durable` is called before each save, so that no checkpoint is of an epoch
  // that the log could still lose. UserError kDevice from any call where a save failed.
  CheckpointObserver(const std::filesystem::path& run_folder, RunFacts facts, Trainer& trainer,
                     std::function<void()> make_log_durable);

  // A run that was resumed is where its checkpoint is: nothing to save until it has gone on.
  void on_run_begin(const RunPlan& plan) override;
  void on_step(const StepProgress& progress) override;
  bool needs_sync_at(int64_t step) const override;
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;

  // For a run that ends without on_run_end: it diverged. What was taken before is saved.
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
  void save(Held held, Standing standing);
  void save_held();

  CheckpointSettings settings_;
  const RunFacts facts_;  // the writer reads them at any time
  Trainer& trainer_;
  std::function<void()> make_log_durable_;
  CheckpointWriter writer_;
  Position saved_;
  Clock::time_point saved_at_ = Clock::now();
  std::optional<Held> best_;  // taken, but too soon after another save to be written yet
};

}  // namespace rnnlab
