// Remembers the best epoch, and says when a metric has stopped improving. It keeps no state of its own: what it
// remembers is part of TrainingState, so a run that is resumed stops where it would have stopped.
#pragma once

#include <cstdint>
#include <optional>

#include "results/epoch_row.h"
#include "training/training_settings.h"
#include "training/training_state.h"

namespace rnnlab {

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

}  // namespace rnnlab
