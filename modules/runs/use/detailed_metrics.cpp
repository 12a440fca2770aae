// SPDX-License-Identifier: Apache-2.0
#include "runs/use/detailed_metrics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bincount.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "runs/use/predict.h"

namespace rnnlab {
namespace {

constexpr const char* kNothing = "-";

// Returns a number for each class; `classes` has shape (N) int64.
std::vector<int64_t> counts_of(const at::Tensor& classes, int64_t num_classes) {
  const at::Tensor counts = at::bincount(classes, {}, num_classes).contiguous();
  const int64_t* values = counts.const_data_ptr<int64_t>();
  return {values, values + counts.numel()};
}

// Both have shape (N) int64, with classes from 0 to num_classes - 1.
std::vector<std::vector<int64_t>> confusion_of(const at::Tensor& targets, const at::Tensor& predicted,
                                               int64_t num_classes) {
  const std::vector<int64_t> counts = counts_of(targets * num_classes + predicted, num_classes * num_classes);
  std::vector<std::vector<int64_t>> rows;
  for (auto row = counts.begin(); row != counts.end(); row += num_classes) rows.emplace_back(row, row + num_classes);
  return rows;
}

std::optional<double> quotient(int64_t part, int64_t whole) {
  return whole == 0 ? std::nullopt : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

// All have shape (N); the mask has the targets that are known.
DetailedMetrics details_of_classes(const at::Tensor& all_targets, const at::Tensor& all_predicted,
                                   const at::Tensor& mask, const std::vector<std::string>& names) {
  constexpr int64_t kMostOfAMatrix = 1000;
  const at::Tensor targets = all_targets.masked_select(mask), predicted = all_predicted.masked_select(mask);
  const int64_t num_classes = std::ssize(names);
  DetailedMetrics metrics;
  if (num_classes <= kMostOfAMatrix) metrics.confusion = confusion_of(targets, predicted, num_classes);
  const auto of_class = counts_of(targets, num_classes), as_class = counts_of(predicted, num_classes);
  const auto right = counts_of(targets.masked_select(targets.eq(predicted)), num_classes);
  for (size_t i = 0; i < names.size(); ++i)
    metrics.classes.push_back({.name = names[i],
                               .num_rows = of_class[i],
                               .precision = quotient(right[i], as_class[i]),
                               .recall = quotient(right[i], of_class[i]),
                               .f1 = quotient(2 * right[i], as_class[i] + of_class[i])});
  return metrics;
}

DetailedMetrics details_of_targets(const Predictions& predictions) {
  DetailedMetrics metrics;
  const at::Tensor errors = predictions.values - predictions.targets;
  for (size_t i = 0; i < predictions.names.size(); ++i) {
    const at::Tensor own = errors.select(1, static_cast<int64_t>(i));
    metrics.targets.push_back(
        {predictions.names[i], own.abs().nanmean().item<double>(), std::sqrt(own.square().nanmean().item<double>())});
  }
  return metrics;
}

}  // namespace

bool has_detailed_metrics(const DataShape& shape) {
  switch (shape.task) {
    case Task::kClassification:
      return true;
    case Task::kBinary:
      return shape.num_outputs == 1;
    case Task::kRegression:
      return shape.num_outputs > 1;
    case Task::kLanguageModel:
      return false;
  }
  return false;
}

namespace {

DetailedMetrics details_of(const Predictions& predictions) {
  const bool is_single = predictions.names.size() == 1;
  switch (predictions.kind) {
    case PredictionKind::kClasses:
      return details_of_classes(predictions.targets, predictions.raw.argmax(1), are_known(predictions.targets),
                                predictions.names);
    case PredictionKind::kProbabilities:
      if (!is_single) return {};
      return details_of_classes(predictions.targets.ge(0.5).flatten().to(at::kLong),
                                predictions.raw.gt(0).flatten().to(at::kLong), are_known(predictions.targets).flatten(),
                                {"0", "1"});
    case PredictionKind::kValues:
      return is_single ? DetailedMetrics() : details_of_targets(predictions);
  }
  return {};
}

}  // namespace

DetailedMetrics detailed_metrics(const Predictions& predictions) {
  DetailedMetrics metrics = details_of(predictions);
  metrics.row = predictions.row;
  return metrics;
}

namespace {

std::string part_text(const std::optional<double>& part) { return part ? fmt::format("{:.4f}", *part) : kNothing; }

}  // namespace

TextTable class_table(const DetailedMetrics& metrics) {
  TextTable table;
  table.add_column("class", Align::kLeft);
  for (const char* heading : {"precision", "recall", "F1"}) table.add_column(heading, Align::kRight);
  table.add_column(metrics.row + "s", Align::kRight);
  for (const ClassMetrics& one : metrics.classes)
    table.add_row(
        {one.name, part_text(one.precision), part_text(one.recall), part_text(one.f1), format_count(one.num_rows)});
  return table;
}

TextTable target_table(const DetailedMetrics& metrics) {
  TextTable table;
  table.add_column("target", Align::kLeft);
  for (const char* heading : {"MAE", "RMSE"}) table.add_column(heading, Align::kRight);
  constexpr size_t kMostTargets = 100;
  for (const TargetErrors& one : std::span(metrics.targets).first(std::min(metrics.targets.size(), kMostTargets)))
    table.add_row(
        {one.name, fmt::format("{:.6g}", one.mean_absolute_error), fmt::format("{:.6g}", one.root_mean_squared_error)});
  return table;
}

namespace {

std::string confusion_text(const DetailedMetrics& metrics) {
  constexpr size_t kMostClasses = 20;
  if (metrics.confusion.empty()) return "";
  if (metrics.classes.size() > kMostClasses)
    return fmt::format("the confusion matrix of {} classes is in the output of --json\n", metrics.classes.size());
  TextTable table;
  table.add_column("target", Align::kLeft);
  for (const ClassMetrics& one : metrics.classes) table.add_column(one.name, Align::kRight);
  for (size_t row = 0; row < metrics.classes.size(); ++row) {
    std::vector<std::string> cells = {metrics.classes[row].name};
    for (const int64_t count : metrics.confusion[row]) cells.push_back(format_count(count));
    table.add_row(std::move(cells));
  }
  return "confusion matrix: a row for each class of the targets, a column for each predicted class\n" + table.text();
}

}  // namespace

std::string detailed_metrics_text(const DetailedMetrics& metrics) {
  if (!metrics.targets.empty()) return "\n" + target_table(metrics).text();
  return metrics.classes.empty() ? "" : "\n" + class_table(metrics).text() + "\n" + confusion_text(metrics);
}

void add_detailed_metrics(const DetailedMetrics& metrics, nlohmann::ordered_json& json) {
  for (const ClassMetrics& one : metrics.classes)
    json["classes"].push_back({{"name", one.name},
                               {metrics.row + "s", one.num_rows},
                               {"precision", to_json(one.precision)},
                               {"recall", to_json(one.recall)},
                               {"f1", to_json(one.f1)}});
  if (!metrics.confusion.empty()) json["confusion_matrix"] = metrics.confusion;
  for (const TargetErrors& one : metrics.targets)
    json["targets"].push_back({{"name", one.name},
                               {"mae", to_json(one.mean_absolute_error)},
                               {"rmse", to_json(one.root_mean_squared_error)}});
}

}  // namespace rnnlab
