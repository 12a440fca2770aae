// SPDX-License-Identifier: Apache-2.0
#include "results/metrics.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/config/schema.h"
#include "base/error.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr std::array<std::string_view, 2> kParts = {"train_", "valid_"};

double mean_loss(const Totals& totals, double /*unit*/) { return totals.loss_sum / static_cast<double>(totals.count); }

double accuracy(const Totals& totals, double /*unit*/) { return totals.metric_sum / static_cast<double>(totals.count); }

double perplexity(const Totals& totals, double unit) { return std::exp(mean_loss(totals, unit)); }

double bits(const Totals& totals, double unit) { return mean_loss(totals, unit) / std::numbers::ln2; }

double mean_absolute_error(const Totals& totals, double unit) {
  return unit * totals.metric_sum / static_cast<double>(totals.count);
}

double root_mean_squared_error(const Totals& totals, double unit) {
  return unit * std::sqrt(totals.weighted_loss_sum / static_cast<double>(totals.count));
}

std::vector<MetricInfo> metrics_of_sums() {
  using enum MetricTask;
  using enum NumberKind;
  constexpr double kMost = config::kMostFloat;
  constexpr MetricRange kError = {Better::kSmaller, 0, kMost, 0}, kShareOfOne = {Better::kLarger, 0, 1, 1};
  return {
      {"loss",
       "loss",
       "loss",
       kLoss,
       {Better::kSmaller, -kMost, kMost, 0},
       {kClasses, kBinary, kNumbers, kTokens},
       mean_loss},
      {"accuracy", "acc", "part of right answers", kShare, kShareOfOne, {kClasses, kBinary, kTokens}, accuracy},
      {"perplexity", "ppl", "perplexity", kMeasure, {Better::kSmaller, 1, kMost, 1}, {kTokens}, perplexity},
      {"bits_per_character",
       "bits/char",
       "number of bits for a token",
       kLoss,
       kError,
       {kTokens},
       bits,
       MetricParts::kValidation},
      {"mae", "MAE", "mean absolute error, in units of the targets", kMeasure, kError, {kNumbers}, mean_absolute_error},
      {"rmse",
       "RMSE",
       "root mean squared error, in units of the targets",
       kMeasure,
       kError,
       {kNumbers},
       root_mean_squared_error},
  };
}

std::vector<MetricInfo> make_list() {
  std::vector<MetricInfo> list = metrics_of_sums();
  for (const auto more : {class_metrics(), number_metrics(), interval_metrics()})
    list.insert(list.end(), more.begin(), more.end());
  return list;
}

std::string_view without_part(std::string_view name) {
  const auto part = std::ranges::find_if(kParts, [&](std::string_view prefix) { return name.starts_with(prefix); });
  return part == kParts.end() ? name : name.substr(part->size());
}

}  // namespace

bool MetricInfo::suits(MetricTask task) const { return std::ranges::find(tasks, task) != tasks.end(); }

std::string MetricInfo::tasks_in_words() const {
  std::vector<std::string> names;
  for (const MetricTask task : tasks) names.emplace_back(config::name_of(task));
  return join_with_or(names);
}

std::span<const MetricInfo> metric_list() {
  static const std::vector<MetricInfo> list = make_list();
  return list;
}

const MetricInfo* find_metric(std::string_view name) {
  const auto list = metric_list();
  const auto found = std::ranges::find(list, without_part(name), &MetricInfo::name);
  return found == list.end() ? nullptr : &*found;
}

std::vector<std::string> metric_columns() {
  std::vector<std::string> names;
  for (const std::string_view part : kParts)
    for (const MetricInfo& metric : metric_list())
      if (part == "valid_" || metric.is_of_training()) names.push_back(std::string(part) + std::string(metric.name));
  return names;
}

std::vector<std::string> goal_columns() {
  std::vector<std::string> names = metric_columns();
  std::erase_if(names, [](const std::string& name) { return !find_metric(name)->is_goal; });
  return names;
}

MetricValues metrics_of(const Totals& totals, MetricTask task, double unit) {
  RNNLAB_INVARIANT(totals.count > 0, "metrics need at least one target");
  MetricValues values;
  for (const MetricInfo& metric : metric_list())
    if (metric.suits(task) && !metric.is_of_scores())
      values[std::string(metric.name)] = std::get<OfSums>(metric.compute)(totals, unit);
  return values;
}

std::vector<const MetricInfo*> score_metrics() {
  std::vector<const MetricInfo*> found;
  for (const MetricInfo& metric : metric_list())
    if (metric.is_of_scores()) found.push_back(&metric);
  return found;
}

}  // namespace rnnlab
