// SPDX-License-Identifier: Apache-2.0
// The list of metrics: their names, which values are better, for which targets they are defined, and how they are
// computed. A metric of sums follows from what every step adds up, and every run has those of its task. A metric of
// scores needs the outputs for all samples of a part: it is computed for validation, in runs that ask for it. A new
// metric is a function and a record in class_metrics.cpp, number_metrics.cpp or
// interval_metrics.cpp. Settings, columns, tables, comparisons
// and reports follow from the record.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/config/enum_names.h"
#include "base/fields.h"

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

  RNNLAB_FIELDS(loss_sum, weighted_loss_sum, metric_sum, count)
};

// What a model gives for the targets of a whole part, over all processes of the run. A row is a sample, or a step if
// each step has a target. The caller owns the numbers.
struct PartScores {
  MetricTask task = MetricTask::kClasses;
  int64_t num_outputs = 1;                    // of a row: classes, or targets
  std::span<const double> outputs = {};       // (rows, num_outputs): logits, or numbers in units of the targets
  std::span<const int64_t> classes = {};      // (rows), -1 if missing
  std::span<const double> targets = {};       // (rows, num_outputs): 0 or 1, or numbers in their units; NaN if missing
  std::span<const double> naive_errors = {};  // (num_outputs): Dataset::naive_errors; empty if unknown
  std::span<const double> levels = {};  // (L): of forecast quantiles, ascending; empty if the model gives values only
  std::span<const double> quantiles = {};  // (rows, num_outputs, L), in units of the targets

  size_t width() const { return static_cast<size_t>(num_outputs); }
  size_t num_rows() const { return outputs.size() / width(); }
  std::span<const double> row_of_outputs(size_t row) const { return outputs.subspan(row * width(), width()); }
};

// A metric that is not defined for a part has a reason in place of a value: "all targets are equal".
struct MetricResult {
  std::optional<double> value;
  std::string reason = {};

  static MetricResult undefined(std::string reason) { return {std::nullopt, std::move(reason)}; }
};

// Returns the mean of of_column(i) over the outputs of a row; if one has no value, its reason.
template <class OfColumn>
MetricResult mean_over_outputs(const PartScores& part, OfColumn of_column) {
  double sum = 0;
  for (size_t i = 0; i < part.width(); ++i) {
    const MetricResult one = of_column(i);
    if (!one.value) return one;
    sum += *one.value;
  }
  return {sum / static_cast<double>(part.width())};
}

// Of the sums of a part; an error in units of the targets is `unit` times that of the sums.
using OfSums = double (*)(const Totals& totals, double unit);
// There is at least one target, and all outputs are finite.
using OfScores = MetricResult (*)(const PartScores& part);

enum class Better { kSmaller, kLarger };
enum class MetricParts { kBoth, kValidation };
enum class MetricNeeds { kOwnPart, kTrainingPart, kDistribution };

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
  std::variant<OfSums, OfScores> compute;
  MetricParts parts = MetricParts::kBoth;  // of scores: always of validation
  // kTrainingPart: PartScores::naive_errors; kDistribution: PartScores::quantiles.
  MetricNeeds needs = MetricNeeds::kOwnPart;
  bool is_goal = true;  // false: neither the smallest nor the largest value is the best, so nothing is chosen by it

  bool suits(MetricTask task) const;
  std::string tasks_in_words() const;  // "classes, binary targets or tokens"
  bool is_of_scores() const { return std::holds_alternative<OfScores>(compute); }
  bool is_of_training() const { return parts == MetricParts::kBoth && !is_of_scores(); }
};

std::span<const MetricInfo> metric_list();

// Returns the metric of "rmse", "train_rmse" or "valid_rmse"; null if the list does not have it.
const MetricInfo* find_metric(std::string_view name);

// Returns the names of all columns of epochs.csv that are metrics, those of training first.
std::vector<std::string> metric_columns();

// Returns those of them by which an epoch or a run can be chosen.
std::vector<std::string> goal_columns();

// Returns the metrics that are of scores.
std::vector<const MetricInfo*> score_metrics();

// Returns the metrics of sums that suit the task, by their names in the list. There must be a target.
MetricValues metrics_of(const Totals& totals, MetricTask task, double unit);

// The lists of class_metrics.cpp, number_metrics.cpp and interval_metrics.cpp.
std::span<const MetricInfo> class_metrics();
std::span<const MetricInfo> number_metrics();
std::span<const MetricInfo> interval_metrics();

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
