// Declares the observers that report a run: the progress bar and a table row for each epoch on the console, the same
// rows in train.log, and epochs.csv / epochs.jsonl. All lines go through one Logger, so the bar and the lines never
// overlap.
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

  Logger& logger_;
  ProgressBar bar_;
  RunPlan plan_;
  std::optional<EpochTable> table_;
  std::string loss_text_;       // of the last reading
  double seconds_of_loss_ = 0;  // since the epoch began
};

class FileObserver : public Observer {
 public:
  // `rows` are those that the log already has.
  FileObserver(const std::filesystem::path& run_folder, std::vector<EpochRow> rows)
      : log_(run_folder), rows_(std::move(rows)) {}

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
// always at the end of the run, however it ends. A background thread writes the files (checkpoint_folder.h): the run
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
  void save(Held held, Standing standing);
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

}  // namespace rnnlab
