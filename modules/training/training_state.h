// How far a run has come and, once it has ended, why. One value that the loop owns and observers read: all progress is
// in it but the weights and the optimiser's own tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"

namespace rnnlab {

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

}  // namespace rnnlab
