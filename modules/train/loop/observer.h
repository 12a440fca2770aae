// SPDX-License-Identifier: Apache-2.0
// An observer watches a run; console, log, files and checkpoints are observers. The functions of an observer are called
// in the order of their declarations, on the training thread. A slow observer slows the run, but only the time of
// on_step counts as training time of an epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/fields.h"
#include "base/system/files.h"
#include "results/epoch_row.h"

namespace rnnlab {

enum class StopReason { kEpochs, kSteps, kSeconds, kEarlyStopping, kTarget, kSignal };

// Holds the progress of a run and, after its end, the reason for the end. The training loop owns this state and
// observers read it. The state has all progress except the weights and the optimiser's tensors.
struct TrainingState {
  int64_t epoch = 0;  // epochs begun
  int64_t step = 0;   // optimiser updates done
  int64_t best_epoch = 0;
  std::optional<double> best_value;  // of early stopping's metric, or of the validation (else training) loss
  std::optional<int64_t> target_epoch = std::nullopt;  // the first that reached training.stop_at
  // Of `schedule: plateau`: how many plateaus there were, and the epoch at which the last one ended.
  std::optional<int64_t> num_plateaus = std::nullopt, plateau_epoch = std::nullopt;
  std::optional<StopReason> stop_reason;
  std::string stop_text;                 // the reason as a sentence: "the run reached training.epochs (3)"
  ExitCode exit_code = ExitCode::kDone;  // 128 + the signal's number after kSignal

  bool stopped() const { return stop_reason.has_value(); }
  // Visits all fields except the reason to stop.
  RNNLAB_FIELDS(epoch, step, best_epoch, best_value, where_given(target_epoch), where_given(num_plateaus),
                where_given(plateau_epoch))

  // Sets the reason to stop, unless one is set already.
  void stop(StopReason reason, std::string text, ExitCode code = ExitCode::kDone) {
    if (stopped()) return;
    stop_reason = reason;
    stop_text = std::move(text);
    exit_code = code;
  }
};

struct RunPlan {
  int64_t num_train = 0;  // samples of an epoch
  int64_t num_valid = 0;
  int64_t steps_per_epoch = 0;  // optimiser updates
  int64_t total_steps = 0;      // 0 if only time bounds the run
  int64_t epochs = 0;           // 0 if epochs do not bound the run
};

struct StepProgress {
  int64_t epoch = 0;          // from 1
  int64_t step_in_epoch = 0;  // from 1
  int64_t steps_per_epoch = 0;
  int64_t step = 0;      // of the whole run, from 1
  double seconds = 0.0;  // since the epoch began
  // Returns the loss of this step. Waits for the device, so call it about once a second, not at every step.
  std::function<double()> read_loss;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_run_begin(const RunPlan&) {}
  virtual void on_epoch_begin(const TrainingState&) {}
  virtual void on_step(const StepProgress&) {}
  // Returns whether on_step reads more than its argument at this step, for example for a snapshot. At different steps
  // the trainer may queue several steps together before it calls on_step for each of them.
  virtual bool needs_sync_at(int64_t /*step*/) const { return false; }
  virtual void on_epoch_end(const TrainingState&, const EpochRow&) {}
  virtual void on_run_end(const TrainingState&) {}

  // Returns whether the other processes of the run must wait while this observer waits for its disk. An observer in
  // which all processes take part writes nothing.
  virtual bool writes_files() const { return true; }
};

}  // namespace rnnlab
