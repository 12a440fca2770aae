// SPDX-License-Identifier: Apache-2.0
// Holds the settings under `training:` in an experiment file. The settings are validated when the file is read; the
// loop does not check them again. The whole run's seed, precision and determinism are at the top level of the file
// instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config/schema.h"
#include "results/metrics.h"
#include "train/loop/optimizers.h"
#include "train/loop/schedule.h"

namespace rnnlab {

enum class LossKind {
  kAuto,
#define RNNLAB_LOSS(enumerator, name, help) enumerator,
#include "train/loop/loss_list.inc"
};

template <>
struct config::EnumNames<LossKind> {
#define RNNLAB_LOSS(enumerator, name, help) std::pair<LossKind, std::string_view>(LossKind::enumerator, #name),
  static constexpr std::array kNames = {
      std::pair<LossKind, std::string_view>(LossKind::kAuto, "auto"),
#include "train/loop/loss_list.inc"
  };
};

enum class ClassWeights { kNone, kBalanced };
RNNLAB_ENUM_NAMES(ClassWeights, {kNone, "none"}, {kBalanced, "balanced"});

// The values of validation at which a run ends: all that are set must be reached in one epoch.
struct StopAt {
  MetricValues values;  // by the columns of epochs.csv: "valid_rmse"

  static const config::Schema<StopAt>& schema();
};

inline constexpr int64_t kEpochsByPlateau = -1;  // "auto"

struct TrainingSettings {
  int64_t epochs = 6;  // 0: no bound by epochs
  std::optional<int64_t> max_steps;
  std::optional<double> max_seconds;

  int64_t batch_size = 128;
  int64_t valid_batch_size = 1000;
  int64_t accumulate = 1;
  bool shuffle = true;
  bool batch_by_length = false;
  bool carry_state = false;
  bool drop_last = false;
  std::optional<int64_t> shards;

  LossKind loss = LossKind::kAuto;
  std::vector<double> quantiles;  // of a loss with a distribution; empty: 0.1, 0.5 and 0.9
  ClassWeights class_weights = ClassWeights::kNone;
  OptimizerKind optimizer = OptimizerKind::kAdam;
  double learning_rate = 1e-3;
  double momentum = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double alpha = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  std::optional<double> clip_norm;
  std::optional<double> clip_value;

  ScheduleKind schedule = ScheduleKind::kConstant;
  int64_t warmup_steps = 0;
  std::optional<double> decay_rate;
  std::optional<int64_t> decay_steps;
  std::optional<int64_t> decay_patience;
  double minimum_learning_rate = 0.0;

  std::vector<std::string> metrics;           // of scores, by their names in the list (results/metrics.h)
  std::optional<std::string> early_stopping;  // a column of epochs.csv: "valid_rmse"
  int64_t patience = 3;
  double min_delta = 0.0;
  StopAt stop_at;

  bool cuda_graph = false;
  int64_t warmup_epochs = 1;
  std::optional<int64_t> num_threads;

  bool tensorboard = false;
  bool tensorboard_histograms = false;
  bool tensorboard_machine = false;

  static const config::Schema<TrainingSettings>& schema();
};

// Replaces `epochs: auto` by what it stands for: at most 1,000 epochs, early stopping by the validation loss, and,
// unless the schedule is set, half the learning rate at each plateau. A run records these settings, so that it can be
// resumed.
void settle_epochs(TrainingSettings& settings);

// Returns the schedule of `settings`. If the file gives no decay_steps, cosine reaches its minimum at the run's last
// step and inverse_time decays with n = 1. `total_steps` is the number of updates in the whole run, 0 if only time
// bounds it.
Schedule make_schedule(const TrainingSettings& settings, int64_t total_steps);

}  // namespace rnnlab
