// What a person and the run folder see of a run: the progress bar and a table row an epoch on the console, the same in
// train.log, and epochs.csv / epochs.jsonl. Everything goes through the one Logger, so nothing is drawn across a line.
#pragma once

#include <optional>
#include <vector>

#include "results/epoch_log.h"
#include "results/epoch_table.h"
#include "results/logger.h"
#include "results/progress.h"
#include "training/observer.h"

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

}  // namespace rnnlab
