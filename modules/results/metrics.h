// SPDX-License-Identifier: Apache-2.0
// The list of metrics: their names, which values are better, for which targets they are defined, and how they are
// computed. A new metric is a function and a record in class_metrics.cpp or number_metrics.cpp. Settings, columns,
// tables, comparisons and reports follow from the record.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/enum_names.h"

namespace rnnlab {

using MetricValues = std::map<std::string, double>;  // by name: "rmse", or of a part "valid_rmse"

// What a model that is trained by a loss predicts: classes, targets that are 0 or 1, numbers, or tokens of a text.
enum class MetricTask { kClasses, kBinary, kNumbers, kTokens };

// Determines how tables show a number (epoch_table.h). kMeasure is a number whose size depends on the data, such as an
// error in the targets' unit.
enum class NumberKind { kCount, kShare, kLoss, kMeasure, kSeconds, kBytes };

// Holds sums over the targets of any number of steps.
struct Totals {
  double loss_sum = 0.0;
  double weighted_loss_sum = 0.0;  // numbers: of squared errors
  double metric_sum = 0.0;         // classes: of right answers; numbers: of absolute errors
  int64_t count = 0;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("loss_sum", self.loss_sum);
    field("weighted_loss_sum", self.weighted_loss_sum);
    field("metric_sum", self.metric_sum);
    field("count", self.count);
  }
};

enum class Better { kSmaller, kLarger };
enum class MetricParts { kBoth, kValidation };

// `least` and `most` are the values that training.stop_at accepts; no value is better than `perfect`.
struct MetricRange {
  Better better;
  double least, most, perfect;
};

struct MetricInfo {
  std::string_view name;     // "rmse"
  std::string_view heading;  // in tables: "RMSE"
  std::string_view help;     // "root mean squared error, in units of the targets"
  NumberKind kind;
  MetricRange range;
  std::vector<MetricTask> tasks;
  // Of the sums of a part; an error in units of the targets is `unit` times that of the sums.
  double (*of_sums)(const Totals& totals, double unit);
  MetricParts parts = MetricParts::kBoth;

  bool suits(MetricTask task) const;
};

std::span<const MetricInfo> metric_list();

// Returns the metric of "rmse", "train_rmse" or "valid_rmse"; null if the list does not have it.
const MetricInfo* find_metric(std::string_view name);

// Returns the names of all columns of epochs.csv that are metrics, those of training first.
std::vector<std::string> metric_columns();

// Returns the metrics of the task, by their names in the list. There must be a target.
MetricValues metrics_of(const Totals& totals, MetricTask task, double unit);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::MetricTask> {
  static constexpr std::array<std::pair<rnnlab::MetricTask, std::string_view>, 4> kNames = {{
      {rnnlab::MetricTask::kClasses, "classes"},
      {rnnlab::MetricTask::kBinary, "binary targets"},
      {rnnlab::MetricTask::kNumbers, "numbers"},
      {rnnlab::MetricTask::kTokens, "tokens"},
  }};
};
