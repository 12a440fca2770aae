// What to say when training meets NaN or Inf: where it began, in which weights the model was left, and what to try. And
// a warning for a run that ended with a loss which is finite but absurd. Looked into only after the fact, so a healthy
// run pays nothing for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "training/objective.h"
#include "training/optimizer.h"
#include "training/step_record.h"

namespace rnnlab {

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
