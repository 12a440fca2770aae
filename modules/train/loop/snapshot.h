// SPDX-License-Identifier: Apache-2.0
// A snapshot holds all that a run needs to resume as if it had never stopped. A snapshot is taken between two steps,
// copied to the host, and never contains a number that is not finite. It has only values that all ranks share, because
// rank 0 writes it for all of them. Settings and data are left out, because they do not change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "layers/parameters.h"
#include "train/loop/determinism.h"
#include "train/loop/objective.h"
#include "train/loop/observer.h"

namespace rnnlab {

// Holds the sums of the present epoch up to this step.
struct EpochTally {
  Totals totals;
  int64_t skipped_steps = 0;
  double gradient_norm_sum = 0.0;  // over steps that were not skipped
  double learning_rate = 0.0;      // of the last step
  int64_t steps = 0;
  int64_t samples = 0;
  double seconds = 0.0;       // of training
  double data_seconds = 0.0;  // spent waiting for batches, part of `seconds`

  RNNLAB_FIELDS(totals, skipped_steps, gradient_norm_sum, learning_rate, steps, samples, seconds, data_seconds)
};

// Holds the progress of a run in numbers.
struct RunProgress {
  TrainingState state;  // without a reason to stop
  // True if the epoch was trained, validated and reported to the observers; if false, `tally.steps` of its steps are
  // done.
  bool epoch_is_over = true;
  EpochTally tally;
  std::optional<double> last_loss;
  double seconds = 0.0;  // since the run began, without the time between stop and resume

  RNNLAB_FIELDS(state, epoch_is_over, tally, last_loss, seconds)
};

struct Snapshot {
  RunProgress progress;
  std::vector<NamedTensor> model;      // on the CPU, float32 or whatever the model holds
  std::vector<NamedTensor> optimizer;  // on the CPU: TrainStep::state
  GeneratorStates generators;
};

// Checks progress that was read from a file. Returns in words why a run with epochs of `steps_per_epoch` steps cannot
// have it, or "" if it is valid.
std::string invalid_reason(const RunProgress& progress, int64_t steps_per_epoch);

// Returns copies on the CPU.
std::vector<NamedTensor> copied_to_host(const std::vector<NamedTensor>& tensors);

// Copies the numbers of `from` into the tensors of `to` by name. The tensors of both must have the same names and
// shapes.
void copy_tensors(const std::vector<NamedTensor>& from, const std::vector<NamedTensor>& to);

}  // namespace rnnlab
