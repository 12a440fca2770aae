#include "training/early_stopping.h"

#include "base/numbers.h"

namespace rnnlab {
namespace {

bool larger_is_better(std::optional<StoppingMetric> metric) {
  return metric == StoppingMetric::kTrainAccuracy || metric == StoppingMetric::kValidAccuracy;
}

}  // namespace

EarlyStopping::EarlyStopping(const TrainingSettings& settings)
    : metric_(settings.early_stopping), patience_(settings.patience), min_delta_(metric_ ? settings.min_delta : 0.0) {}

std::optional<double> EarlyStopping::watched_value(const EpochRow& row) const {
  if (!metric_) return row.valid_loss.value_or(row.train_loss);
  switch (*metric_) {
    case StoppingMetric::kTrainLoss:
      return row.train_loss;
    case StoppingMetric::kTrainAccuracy:
      return row.train_accuracy;
    case StoppingMetric::kValidLoss:
      return row.valid_loss;
    case StoppingMetric::kValidAccuracy:
      return row.valid_accuracy;
  }
  return std::nullopt;
}

bool EarlyStopping::improves(double value, double best) const {
  return larger_is_better(metric_) ? value > best + min_delta_ : value < best - min_delta_;
}

void EarlyStopping::remember(const EpochRow& row, TrainingState& state) const {
  const auto value = watched_value(row);
  if (!value) return;
  if (state.best_value && !improves(*value, *state.best_value)) return;
  state.best_value = value;
  state.best_epoch = row.epoch;
}

void EarlyStopping::stop_if_patience_is_over(TrainingState& state) const {
  if (!metric_ || !state.best_value || state.epoch - state.best_epoch < patience_) return;
  state.stop(
      StopReason::kEarlyStopping,
      fmt::format("{} has not improved by more than {} for {} (best {:.6g} at epoch {})", config::name_of(*metric_),
                  min_delta_, counted(patience_, "epoch"), *state.best_value, state.best_epoch));
}

}  // namespace rnnlab
