// SPDX-License-Identifier: Apache-2.0
// The metrics of numbers that need the outputs for a whole part.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/config/schema.h"
#include "base/statistics.h"
#include "results/metrics.h"

namespace rnnlab {
namespace {

// The known targets of a column, and what the model gives for them.
struct TargetColumn {
  std::vector<double> targets, outputs;
};

TargetColumn column_of(const PartScores& part, size_t column) {
  TargetColumn known;
  for (size_t i = column; i < part.targets.size(); i += part.width()) {
    if (std::isnan(part.targets[i])) continue;
    known.targets.push_back(part.targets[i]);
    known.outputs.push_back(part.outputs[i]);
  }
  return known;
}

// Returns "", or " in column 3 (from 0)" if a row has several targets.
std::string in_column(const PartScores& part, size_t i) {
  return part.width() == 1 ? "" : fmt::format(" in column {} (from 0)", i);
}

// Returns the mean of of_column(known targets, i, in_column) over the columns of targets.
template <class OfColumn>
MetricResult mean_over_known(const PartScores& part, OfColumn of_column) {
  return mean_over_outputs(part, [&](size_t i) {
    const TargetColumn column = column_of(part, i);
    const std::string where = in_column(part, i);
    if (column.targets.empty()) return MetricResult::undefined(fmt::format("no target{} is known", where));
    return of_column(column, i, where);
  });
}

double squared_errors(const TargetColumn& column) {
  double sum = 0;
  for (size_t i = 0; i < column.targets.size(); ++i) sum += std::pow(column.targets[i] - column.outputs[i], 2);
  return sum;
}

// Equal targets are compared with each other, because their mean may differ from them by rounding.
bool all_equal(const std::vector<double>& values) {
  return std::ranges::adjacent_find(values, std::ranges::not_equal_to()) == values.end();
}

MetricResult r2(const PartScores& part) {
  return mean_over_known(part, [](const TargetColumn& column, size_t, const std::string& where) -> MetricResult {
    const double deviations = squared_deviations(column.targets);
    if (all_equal(column.targets) || deviations == 0)
      return MetricResult::undefined(fmt::format("all targets{} are equal, so none deviates from their mean", where));
    return {1 - squared_errors(column) / deviations};
  });
}

double mean_absolute_error(const TargetColumn& column) {
  double sum = 0;
  for (size_t i = 0; i < column.targets.size(); ++i) sum += std::abs(column.targets[i] - column.outputs[i]);
  return sum / static_cast<double>(column.targets.size());
}

MetricResult mase(const PartScores& part) {
  if (part.naive_errors.empty())
    return MetricResult::undefined(
        "the naive error of the training part is unknown: it needs data.source: csv with data.window");
  return mean_over_known(part, [&](const TargetColumn& column, size_t i, const std::string& where) -> MetricResult {
    const double naive = part.naive_errors[i];
    if (std::isnan(naive))
      return MetricResult::undefined(
          fmt::format("the training part does not have two targets{} that are a season apart", where));
    if (naive == 0)
      return MetricResult::undefined(
          fmt::format("targets{} of the training part do not change from season to season", where));
    return {mean_absolute_error(column) / naive};
  });
}

// Two zeros have no difference in proportion, so their term is 0.
double symmetric_percentage(double target, double output) {
  constexpr double kPercent = 200;
  const double size = std::abs(target) + std::abs(output);
  return size == 0 ? 0 : kPercent * std::abs(target - output) / size;
}

MetricResult smape(const PartScores& part) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < part.targets.size(); ++i) {
    if (std::isnan(part.targets[i])) continue;
    sum += symmetric_percentage(part.targets[i], part.outputs[i]);
    ++count;
  }
  return {sum / count};
}

std::vector<MetricInfo> list_of_numbers() {
  using enum NumberKind;
  constexpr double kMost = config::kMostFloat, kMostPercent = 200;
  const std::vector<MetricTask> tasks = {MetricTask::kNumbers};
  return {
      {"r2", "R2", "coefficient of determination", kLoss, {Better::kLarger, -kMost, 1, 1}, tasks, r2},
      {.name = "mase",
       .heading = "MASE",
       .help = "mean absolute scaled error",
       .kind = kLoss,
       .range = {Better::kSmaller, 0, kMost, 0},
       .tasks = tasks,
       .compute = mase,
       .needs = MetricNeeds::kTrainingPart},
      {"smape",
       "sMAPE",
       "symmetric mean absolute percentage error, in percent",
       kMeasure,
       {Better::kSmaller, 0, kMostPercent, 0},
       tasks,
       smape},
  };
}

}  // namespace

std::span<const MetricInfo> number_metrics() {
  static const std::vector<MetricInfo> list = list_of_numbers();
  return list;
}

}  // namespace rnnlab
