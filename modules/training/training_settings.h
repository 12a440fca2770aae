// SPDX-License-Identifier: Apache-2.0
// Holds the settings under `training:` in an experiment file. The settings are validated when the file is read; the
// loop does not check them again. The whole run's seed, precision and determinism are at the top level of the file
// instead.
#pragma once

#include <cstdint>
#include <optional>

#include "config/schema.h"

namespace rnnlab {

enum class OptimizerKind { kSgd, kAdam, kAdamW };
enum class ScheduleKind { kConstant, kStep, kCosine, kInverseTime, kExponential };
enum class LossKind { kAuto, kCrossEntropy, kBinaryCrossEntropy, kMse };
enum class StoppingMetric { kTrainLoss, kTrainAccuracy, kValidLoss, kValidAccuracy, kValidRmse, kValidMae };

struct TrainingSettings {
  int64_t epochs = 6;  // 0: no bound by epochs
  std::optional<int64_t> max_steps;
  std::optional<double> max_seconds;

  int64_t batch_size = 128;
  int64_t valid_batch_size = 1000;
  int64_t accumulate = 1;
  bool shuffle = true;
  bool drop_last = false;
  std::optional<int64_t> shards;

  LossKind loss = LossKind::kAuto;
  OptimizerKind optimizer = OptimizerKind::kAdam;
  double learning_rate = 1e-3;
  double momentum = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  std::optional<double> clip_norm;
  std::optional<double> clip_value;

  ScheduleKind schedule = ScheduleKind::kConstant;
  int64_t warmup_steps = 0;
  std::optional<double> decay_rate;
  std::optional<int64_t> decay_steps;
  double minimum_learning_rate = 0.0;

  std::optional<StoppingMetric> early_stopping;
  int64_t patience = 3;
  double min_delta = 0.0;

  bool cuda_graph = false;
  int64_t warmup_epochs = 1;
  std::optional<int64_t> num_threads;

  bool tensorboard = false;
  bool tensorboard_histograms = false;
  bool tensorboard_machine = false;

  static const config::Schema<TrainingSettings>& schema();
};

}  // namespace rnnlab

namespace rnnlab::config {

template <>
struct EnumNames<OptimizerKind> {
  static constexpr std::array<std::pair<OptimizerKind, std::string_view>, 3> kNames = {
      {{OptimizerKind::kSgd, "sgd"}, {OptimizerKind::kAdam, "adam"}, {OptimizerKind::kAdamW, "adamw"}}};
};

template <>
struct EnumNames<ScheduleKind> {
  static constexpr std::array<std::pair<ScheduleKind, std::string_view>, 5> kNames = {
      {{ScheduleKind::kConstant, "constant"},
       {ScheduleKind::kStep, "step"},
       {ScheduleKind::kCosine, "cosine"},
       {ScheduleKind::kInverseTime, "inverse_time"},
       {ScheduleKind::kExponential, "exponential"}}};
};

template <>
struct EnumNames<LossKind> {
  static constexpr std::array<std::pair<LossKind, std::string_view>, 4> kNames = {
      {{LossKind::kAuto, "auto"},
       {LossKind::kCrossEntropy, "cross_entropy"},
       {LossKind::kBinaryCrossEntropy, "binary_cross_entropy"},
       {LossKind::kMse, "mse"}}};
};

template <>
struct EnumNames<StoppingMetric> {
  static constexpr std::array<std::pair<StoppingMetric, std::string_view>, 6> kNames = {
      {{StoppingMetric::kTrainLoss, "train_loss"},
       {StoppingMetric::kTrainAccuracy, "train_accuracy"},
       {StoppingMetric::kValidLoss, "valid_loss"},
       {StoppingMetric::kValidAccuracy, "valid_accuracy"},
       {StoppingMetric::kValidRmse, "valid_rmse"},
       {StoppingMetric::kValidMae, "valid_mae"}}};
};

}  // namespace rnnlab::config
