// Writes an event file for TensorBoard into the run folder: the scalars of each epoch, the settings and the end of the
// run, a graph of the model, and on request histograms of weights and gradients. Steps are epochs. A resumed run writes
// a new file, from which readers learn which epochs to drop. A file that cannot be written is an error, as for the
// other logs.
#pragma once

#include <filesystem>
#include <string>

#include "experiment/prepared_run.h"
#include "results/epoch_row.h"
#include "tensorboard/event_file.h"
#include "training/observer.h"

namespace rnnlab {

// Returns the tag of an epoch's column: "valid/accuracy" for valid_accuracy, "training/..." for example for the
// learning rate, "measured/..." for times; empty if the column is not a scalar of its own.
std::string scalar_tag(const EpochColumn& column);

// Returns a row as a Summary message. Columns without a value are left out.
std::string scalars_of(const EpochRow& row);

class TensorBoardObserver : public Observer {
 public:
  // `run` must outlive this observer. `first_epoch` is the first epoch to report. Any call may throw UserError kDevice.
  TensorBoardObserver(const std::filesystem::path& run_folder, const PreparedRun& run, int64_t first_epoch);

  void on_run_begin(const RunPlan& plan) override;
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;  // not for a run that a signal stopped: it may resume

  // Call this function for a run that diverged, which ends without on_run_end.
  void fail();

  void sync() { file_.sync(); }

 private:
  const PreparedRun& run_;
  int64_t first_epoch_;
  tensorboard::EventFile file_;
};

}  // namespace rnnlab
