// SPDX-License-Identifier: Apache-2.0
// Ends a run before its last epoch: early stopping, and errors for losses and weights that are not finite.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "results/epoch_row.h"
#include "train/loop/objective.h"
#include "train/loop/observer.h"
#include "train/loop/optimizer.h"
#include "train/loop/step_record.h"
#include "train/loop/training_settings.h"

namespace rnnlab {

// Records the best epoch, and stops a run whose metric has stopped improving. The class has no state of its own: the
// record is part of TrainingState, so a resumed run stops at the epoch at which it would have stopped.
class EarlyStopping {
 public:
  explicit EarlyStopping(const TrainingSettings& settings);

  // Updates the best epoch with the row of a whole epoch. An epoch without the metric (no validation data) is skipped.
  // If early_stopping is not set, the best epoch is the one with the least loss.
  void update_best(const EpochRow& row, TrainingState& state) const;

  // Stops `state` if its last epoch, which must be over, is `patience` epochs or more after the best.
  void stop_if_patience_is_over(TrainingState& state) const;

 private:
  std::string metric_;  // "" if early_stopping is not set
  int64_t patience_;
  double min_delta_;
};

// Counts the plateaus of a run whose schedule lowers the learning rate after each. Call this function after
// EarlyStopping::update_best(): a plateau is `decay_patience` epochs without a better one, and the next begins with the
// lower rate.
void count_plateaus(const Schedule& schedule, TrainingState& state);

// Ends a run when an epoch reaches the values of training.stop_at. Like EarlyStopping it has no state of its own.
class StopTarget {
 public:
  explicit StopTarget(const TrainingSettings& settings) : targets_(settings.stop_at.values) {}

  // Records the first whole epoch that reaches the values.
  void update(const EpochRow& row, TrainingState& state) const;

  void stop_if_reached(TrainingState& state) const;

 private:
  MetricValues targets_;
};

// Holds the facts for the error message about NaN or Inf: the step that found it, and the losses and gradients there.
// The functions below look for the cause only after the fact, so they cost a healthy run no time.
struct BadStep {
  int64_t epoch = 0;
  int64_t step = 0;  // of the whole run, from 1
  double loss = 0.0;
  std::optional<double> previous_loss;
  std::vector<std::string> gradients;  // the parameters whose gradients are not finite
};

bool is_finite(const StepRow& row);

// Always throws UserError kDiverged. The message names the first cause that it finds, in this order: the weights at the
// beginning of the step, the data, the loss, the gradients.
[[noreturn]] void throw_diverged(const BadStep& bad, const std::vector<NamedTensor>& parameters, const Samples& train);

// Call this function before a state is saved. The function throws UserError kDiverged if a weight or a number of the
// optimiser is not finite after `step` updates, and waits for the device.
void require_finite(int64_t epoch, int64_t step, const std::vector<NamedTensor>& parameters,
                    const std::vector<NamedTensor>& optimizer_state);

// Does what throw_diverged does, for a validation loss after `step` updates.
[[noreturn]] void throw_diverged_in_validation(int64_t epoch, int64_t step, double loss,
                                               const std::vector<NamedTensor>& parameters, const Samples& valid);

// Returns the loss of outputs that are all 0, which is about that of an untrained model. Takes one pass over the
// targets. The loss must be on the CPU.
double loss_of_zero_outputs(const Loss& loss, const Dataset& dataset);

// Returns a warning if the last training loss of a run is more than ten times `of_zeros`, the loss of outputs that are
// all zero. Else returns nothing.
std::optional<std::string> high_loss_warning(double train_loss, double of_zeros);

// Returns a warning if the training loss of the last epoch is more than three times that of the first. Else returns
// nothing.
std::optional<std::string> grown_loss_warning(double first_epoch, double last_epoch);

}  // namespace rnnlab
