// Remembers the best epoch, and says when a metric has stopped improving. It keeps no state of its own: what it
// remembers is part of TrainingState. The best weights are not kept.
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

  // Takes the epoch into account, and stops `state` after `patience` epochs without an improvement of more than
  // min_delta. An epoch that lacks the metric (no validation data) is passed over. Without early_stopping it only
  // remembers the best loss.
  void update(const EpochRow& row, TrainingState& state) const;

 private:
  std::optional<double> watched_value(const EpochRow& row) const;
  bool improves(double value, double best) const;

  std::optional<StoppingMetric> metric_;
  int64_t patience_;
  double min_delta_;
};

}  // namespace rnnlab
