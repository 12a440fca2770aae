// What watches a run: console, log, files, checkpoints. Calls come in the order of the functions below, on the
// training thread; an observer that is slow makes the run slow, but only on_step falls into the timed part of an epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "results/epoch_row.h"

namespace rnnlab {

// How far a run has come and, once it has ended, why. One value that the loop owns and observers read: all progress is
// in it but the weights and the optimiser's own tensors.

enum class StopReason { kEpochs, kSteps, kSeconds, kEarlyStopping, kSignal };

struct TrainingState {
  int64_t epoch = 0;  // epochs begun
  int64_t step = 0;   // optimiser updates done
  int64_t best_epoch = 0;
  std::optional<double>
      best_value;  // of the metric that early stopping watches, else of the validation (or training) loss
  std::optional<StopReason> stop_reason;
  std::string stop_text;                 // the reason as a sentence: "3 epochs are done"
  ExitCode exit_code = ExitCode::kDone;  // 128 + the signal's number after kSignal

  bool stopped() const { return stop_reason.has_value(); }
  // Without the reason to stop.
  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("epoch", self.epoch);
    field("step", self.step);
    field("best_epoch", self.best_epoch);
    field("best_value", self.best_value);
  }

  // The first reason stays.
  void stop(StopReason reason, std::string text, ExitCode code = ExitCode::kDone);
};

struct RunPlan {
  int64_t num_train = 0;  // samples of an epoch
  int64_t num_valid = 0;
  int64_t steps_per_epoch = 0;  // optimiser updates
  int64_t total_steps = 0;      // 0 where only time bounds the run
  int64_t epochs = 0;           // 0 where epochs do not bound it
};

struct StepProgress {
  int64_t epoch = 0;          // from 1
  int64_t step_in_epoch = 0;  // from 1
  int64_t steps_per_epoch = 0;
  int64_t step = 0;      // of the whole run, from 1
  double seconds = 0.0;  // since the epoch began
  // The loss of this step. Waits for the device: ask about once a second, not at every step.
  std::function<double()> read_loss;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_run_begin(const RunPlan&) {}
  virtual void on_epoch_begin(const TrainingState&) {}
  virtual void on_step(const StepProgress&) {}
  // Whether on_step reads more at this step than what it is told, as a snapshot does. Other steps may be queued
  // together with some after them, before they are told one by one.
  virtual bool needs_sync_at(int64_t /*step*/) const { return false; }
  virtual void on_epoch_end(const TrainingState&, const EpochRow&) {}
  virtual void on_run_end(const TrainingState&) {}
};

}  // namespace rnnlab
