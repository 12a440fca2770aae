#include "training/early_stopping.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TrainingSettings watching(StoppingMetric metric, int64_t patience, double min_delta = 0.0) {
  TrainingSettings settings;
  settings.early_stopping = metric;
  settings.patience = patience;
  settings.min_delta = min_delta;
  return settings;
}

// One epoch a value, until it stops.
TrainingState after(const TrainingSettings& settings, const std::vector<double>& values) {
  const EarlyStopping early_stopping(settings);
  TrainingState state;
  EpochRow row;
  for (const double value : values) {
    ++row.epoch;
    row.train_loss = row.valid_loss.emplace(value);
    row.train_accuracy = row.valid_accuracy = value;
    state.epoch = row.epoch;
    early_stopping.remember(row, state);
    early_stopping.stop_if_patience_is_over(state);
    if (state.stopped()) break;
  }
  return state;
}

TEST(EarlyStopping, StopsAfterPatienceEpochsWithoutABetterLoss) {
  const auto state = after(watching(StoppingMetric::kValidLoss, 2), {0.9, 0.5, 0.6, 0.5, 0.1});
  EXPECT_EQ(state.epoch, 4);
  EXPECT_EQ(state.best_epoch, 2);
  EXPECT_EQ(state.stop_reason, StopReason::kEarlyStopping);
  EXPECT_EQ(state.stop_text, "valid_loss has not improved by more than 0 for 2 epochs (best 0.5 at epoch 2)");
}

TEST(EarlyStopping, AnAccuracyImprovesUpwards) {
  const auto state = after(watching(StoppingMetric::kTrainAccuracy, 1), {0.5, 0.7, 0.6});
  EXPECT_EQ(state.stop_text, "train_accuracy has not improved by more than 0 for 1 epoch (best 0.7 at epoch 2)");
}

TEST(EarlyStopping, SmallImprovementsDoNotCount) {
  EXPECT_FALSE(after(watching(StoppingMetric::kValidLoss, 2, 0.1), {1.0, 0.8, 0.6, 0.4}).stopped());
  EXPECT_TRUE(after(watching(StoppingMetric::kValidLoss, 2, 0.1), {1.0, 0.95, 0.92, 0.4}).stopped());
}

TEST(EarlyStopping, AnImprovementRestartsThePatience) {
  EXPECT_FALSE(after(watching(StoppingMetric::kTrainLoss, 2), {0.9, 1.0, 0.8, 1.0, 0.7, 1.0}).stopped());
}

TEST(EarlyStopping, WithoutItTheBestLossIsRememberedAndNothingStops) {
  const auto state = after(TrainingSettings(), {0.9, 0.5, 0.6, 0.7, 0.8, 0.9});
  EXPECT_FALSE(state.stopped());
  EXPECT_EQ(state.best_epoch, 2);
  EXPECT_EQ(state.best_value, 0.5);
}

TEST(EarlyStopping, PassesOverAnEpochThatLacksTheMetric) {
  const EarlyStopping early_stopping(watching(StoppingMetric::kValidLoss, 1));
  TrainingState state;
  EpochRow row;
  row.epoch = 1;
  early_stopping.remember(row, state);
  EXPECT_FALSE(state.best_value.has_value());
}

TEST(TrainingState, KeepsItsFirstStopReason) {
  TrainingState state;
  state.stop(StopReason::kSignal, "first", ExitCode::kInterrupted);
  state.stop(StopReason::kEpochs, "second");
  EXPECT_EQ(state.stop_reason, StopReason::kSignal);
  EXPECT_EQ(state.stop_text, "first");
  EXPECT_EQ(state.exit_code, ExitCode::kInterrupted);
}

}  // namespace
}  // namespace rnnlab
