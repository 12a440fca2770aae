// What ends a run before its last epoch: no more progress, or a loss that is not a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "results/epoch_row.h"
#include "training/objective.h"
#include "training/observer.h"
#include "training/optimizer.h"
#include "training/step_record.h"
#include "training/training_settings.h"

namespace rnnlab {

// Remembers the best epoch, and says when a metric has stopped improving. It keeps no state of its own: what it
// remembers is part of TrainingState, so a run that is resumed stops where it would have stopped.

class EarlyStopping {
 public:
  explicit EarlyStopping(const TrainingSettings& settings);

  // Takes a whole epoch into account. One that lacks the metric (no validation data) is passed over. Without
  // early_stopping the best is that of the least loss.
  void remember(const EpochRow& row, TrainingState& state) const;

  // Stops `state` if its last epoch, which is over, is `patience` epochs or more behind the best.
  void stop_if_patience_is_over(TrainingState& state) const;

 private:
  std::optional<double> watched_value(const EpochRow& row) const;
  bool improves(double value, double best) const;

  std::optional<StoppingMetric> metric_;
  int64_t patience_;
  double min_delta_;
};

// What to say when training meets NaN or Inf: where it began, in which weights the model was left, and what to try. And
// a warning for a run that ended with a loss which is finite but absurd. Looked into only after the fact, so a healthy
// run pays nothing for it.

struct BadStep {
  int64_t epoch = 0;
  int64_t step = 0;  // of the whole run, from 1
  double loss = 0.0;
  std::optional<double> previous_loss;
  std::vector<std::string> gradients;  // the parameters whose gradients are not finite
};

bool is_finite(const StepRow& row);

// Always UserError kDiverged. Blames, in this order, the weights that the step began with, the data, the loss, the
// gradients.
[[noreturn]] void throw_diverged(const BadStep& bad, const std::vector<NamedTensor>& parameters, const Samples& train);

// Before a state is kept: UserError kDiverged where a weight or a number of the optimiser's is not finite after `step`
// updates. Waits for the device.
void require_finite(int64_t epoch, int64_t step, const std::vector<NamedTensor>& parameters,
                    const std::vector<NamedTensor>& optimizer_state);

// As throw_diverged, for a validation loss after `step` updates.
[[noreturn]] void throw_diverged_in_validation(int64_t epoch, int64_t step, double loss,
                                               const std::vector<NamedTensor>& parameters, const Samples& valid);

// The loss of outputs that are all 0: about that of an untrained model. Takes one pass over the targets.
double loss_of_zeros(LossKind loss, const Dataset& dataset);

// For the last training loss of a run: a sentence if it is more than ten times `of_zeros`, else nothing.
std::optional<std::string> high_loss_warning(double train_loss, double of_zeros);

}  // namespace rnnlab
