// What TensorBoard shows of a run, in an event file of the run folder: the scalars of each epoch, the settings and how
// the run ended, a drawing of the model, and on request how weights and gradients are distributed. Steps are epochs. A
// run that goes on writes a file of its own, from which readers learn which epochs to forget. A file that cannot be
// written is an error, as for the other logs.
#pragma once

#include <filesystem>
#include <string>

#include "experiment/prepared_run.h"
#include "results/epoch_row.h"
#include "tensorboard/event_file.h"
#include "training/observer.h"

namespace rnnlab {

// The tag of an epoch's column: "valid/accuracy" of valid_accuracy, "training/..." of the learning rate and the like,
// "measured/..." of times; empty if the column is no scalar of its own.
std::string scalar_tag(const EpochColumn& column);

// A row as a Summary message. Columns without a value are left out.
std::string scalars_of(const EpochRow& row);

class TensorBoardObserver : public Observer {
 public:
  // `run` must outlive this. `first_epoch`: that will be told of. UserError kDevice from any call.
  TensorBoardObserver(const std::filesystem::path& run_folder, const PreparedRun& run, int64_t first_epoch);

  void on_run_begin(const RunPlan& plan) override;
  void on_epoch_end(const TrainingState& state, const EpochRow& row) override;
  void on_run_end(const TrainingState& state) override;  // one that a signal stopped may go on: it has not ended

  // For a run that ends without on_run_end: it diverged.
  void fail();

  void sync() { file_.sync(); }

 private:
  const PreparedRun& run_;
  int64_t first_epoch_;
  tensorboard::EventFile file_;
};

}  // namespace rnnlab
