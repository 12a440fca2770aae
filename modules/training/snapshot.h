// All that a run needs to go on as if it had never stopped: taken between two steps, copied to the host, and checked:
// what is not finite is never taken. What does not change (settings, data) is not in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "training/determinism.h"
#include "training/named_tensor.h"
#include "training/objective.h"
#include "training/observer.h"

namespace rnnlab {

// What the epoch under way adds up to so far.
struct EpochTally {
  Totals totals;
  int64_t skipped_steps = 0;
  double gradient_norm_sum = 0.0;  // of the others
  double learning_rate = 0.0;      // of the last step
  int64_t steps = 0;
  int64_t samples = 0;
  double seconds = 0.0;       // of training
  double data_seconds = 0.0;  // of these, waiting for batches

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("totals", self.totals);
    field("skipped_steps", self.skipped_steps);
    field("gradient_norm_sum", self.gradient_norm_sum);
    field("learning_rate", self.learning_rate);
    field("steps", self.steps);
    field("samples", self.samples);
    field("seconds", self.seconds);
    field("data_seconds", self.data_seconds);
  }
};

// How far a run has come, in numbers.
struct RunProgress {
  TrainingState state;  // never stopped: why it stopped is not part of where it was
  // The epoch was trained, validated and told to the observers. Else `tally.steps` of its steps are done.
  bool epoch_is_over = true;
  EpochTally tally;
  std::optional<double> last_loss;
  double seconds = 0.0;  // since the run began, without the time between stopping and going on

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("state", self.state);
    field("epoch_is_over", self.epoch_is_over);
    field("tally", self.tally);
    field("last_loss", self.last_loss);
    field("seconds", self.seconds);
  }
};

struct Snapshot {
  RunProgress progress;
  std::vector<NamedTensor> model;      // on the CPU, float32 or whatever the model holds
  std::vector<NamedTensor> optimizer;  // on the CPU: TrainStep::state
  GeneratorStates generators;
};

// What cannot be the progress of a run with epochs of so many steps, in words; "" where nothing is wrong. For what
// comes from a file.
std::string fault_of(const RunProgress& progress, int64_t steps_per_epoch);

// Copies on the CPU.
std::vector<NamedTensor> copied_to_host(const std::vector<NamedTensor>& tensors);

// Writes the numbers of `from` into the tensors of `to` of the same names: both must hold the same names and shapes.
void copy_tensors(const std::vector<NamedTensor>& from, const std::vector<NamedTensor>& to);

}  // namespace rnnlab
