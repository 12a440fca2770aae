// SPDX-License-Identifier: Apache-2.0
#include "results/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace rnnlab {

MetricValues metrics_in_row(const EpochRow& row) {
  MetricValues metrics;
  for (const EpochColumn& column : epoch_columns())
    if (const auto value = number_in(row, column); column.role == ColumnRole::kMetric && value)
      metrics[column.name] = *value;
  return metrics;
}

std::optional<double> metric_in(const EpochRow& row, std::string_view metric) {
  const EpochColumn* const column = find_column(metric);
  return column == nullptr || column->role != ColumnRole::kMetric ? std::nullopt : number_in(row, *column);
}

bool is_larger_better(std::string_view metric) {
  const MetricInfo* const info = find_metric(metric);
  return info != nullptr && info->range.better == Better::kLarger;
}

bool is_better(std::string_view metric, double value, double other) {
  return is_larger_better(metric) ? value > other : value < other;
}

bool is_perfect(std::string_view metric, double value) {
  const MetricInfo* const info = find_metric(metric);
  return info != nullptr && (value == info->range.perfect || is_better(metric, value, info->range.perfect));
}

std::string own_metric(const MetricValues& metrics) {
  constexpr std::array<const char*, 8> kInOrder = {"valid_rmse", "valid_perplexity", "valid_accuracy", "valid_loss",
                                                   "train_rmse", "train_perplexity", "train_accuracy", "train_loss"};
  const auto found = std::ranges::find_if(kInOrder, [&](const char* name) { return metrics.contains(name); });
  return found == kInOrder.end() ? "" : *found;
}

std::string heading_of(const std::string& metric) {
  const EpochColumn* const column = find_column(metric);
  return column == nullptr ? metric : column->heading;
}

std::string heading_on(const std::string& metric, std::string_view part) {
  constexpr std::string_view kValid = "valid ";
  std::string heading = heading_of(metric);
  if (!heading.starts_with(kValid)) return heading;
  const std::string bare = heading.substr(kValid.size());
  return part.empty() ? bare : fmt::format("{} {}", part, bare);
}

std::string baseline_text(const Baseline& baseline) { return baseline_text(baseline, "valid"); }

std::string baseline_text(const Baseline& baseline, std::string_view part) {
  const std::string own = own_metric(baseline.metrics);
  std::vector<std::string> texts;
  for (const auto& [metric, value] : baseline.metrics)
    texts.insert(metric == own ? texts.begin() : texts.end(),
                 fmt::format("{} {:.4g}", heading_on(metric, part), value));
  return fmt::format("{}: {}", baseline.name, join(texts, ", "));
}

void add_once(std::vector<Baseline>& baselines, const Baseline& baseline) {
  const auto is_alike = [&](const Baseline& other) { return baseline_text(other) == baseline_text(baseline); };
  if (std::ranges::none_of(baselines, is_alike)) baselines.push_back(baseline);
}

std::optional<Winner> winner_of(const MetricValues& model, const std::vector<Baseline>& baselines) {
  const std::string metric = own_metric(model);
  const Baseline* const baseline = best_baseline(baselines, metric);
  if (baseline == nullptr) return std::nullopt;
  return Winner{metric, model.at(metric), baseline, baseline->metrics.at(metric)};
}

std::string winner_text(const MetricValues& model, const std::vector<Baseline>& baselines, std::string_view part) {
  const std::string metric = own_metric(model);
  if (metric.empty()) return "";
  const std::string heading = heading_on(metric, part);
  const auto winner = winner_of(model, baselines);
  if (!winner) return fmt::format("{} {:.4g}", heading, model.at(metric));
  const std::string& name = winner->baseline->name;
  if (winner->is_tie())
    return fmt::format("nobody wins: {} is {:.4g} for the model and for {}", heading, winner->of_model, name);
  if (winner->is_model())
    return fmt::format("the model wins: {} {:.4g}, against {:.4g} for {}, the best prediction without a model", heading,
                       winner->of_model, winner->of_baseline, name);
  return fmt::format("{} wins, without a model: {} {:.4g}, against {:.4g} for the model", name, heading,
                     winner->of_baseline, winner->of_model);
}

const Baseline* best_baseline(const std::vector<Baseline>& baselines, const std::string& metric) {
  const Baseline* best = nullptr;
  for (const Baseline& baseline : baselines) {
    if (!baseline.metrics.contains(metric)) continue;
    if (best == nullptr || is_better(metric, baseline.metrics.at(metric), best->metrics.at(metric))) best = &baseline;
  }
  return best;
}

std::optional<std::string> baseline_warning(const std::vector<Baseline>& baselines, const MetricValues& best) {
  const std::string metric = own_metric(best);
  const Baseline* baseline = best_baseline(baselines, metric);
  if (baseline == nullptr || is_better(metric, best.at(metric), baseline->metrics.at(metric))) return std::nullopt;
  if (is_perfect(metric, best.at(metric))) return std::nullopt;
  return fmt::format(
      "the model is not better than a prediction without a model: {} is {:.4g} in its best epoch, and {:.4g} for the "
      "{}; train longer, or try another learning rate, model or inputs",
      metric, best.at(metric), baseline->metrics.at(metric), baseline->name);
}

bool reaches(const EpochRow& row, const MetricValues& stop_at) {
  return !stop_at.empty() && std::ranges::all_of(stop_at, [&](const auto& target) {
    const auto value = metric_in(row, target.first);
    return value && (*value == target.second || is_better(target.first, *value, target.second));
  });
}

std::optional<TargetRecord> target_record(const MetricValues& stop_at, std::span<const EpochRow> rows) {
  if (stop_at.empty()) return std::nullopt;
  TargetRecord record;
  record.stop_at = stop_at;
  double seconds = 0;
  for (const EpochRow& row : rows) {
    seconds += row.train_seconds;
    if (!reaches(row, stop_at)) continue;
    record.epoch = row.epoch;
    record.train_seconds = seconds;
    break;
  }
  return record;
}

std::string target_text(const MetricValues& stop_at) {
  std::vector<std::string> texts;
  for (const auto& [metric, value] : stop_at) texts.push_back(fmt::format("{} {:g}", metric, value));
  return join_with_and(texts);
}

std::span<const EpochRow> whole_epochs(std::span<const EpochRow> rows, int64_t num_whole) {
  return rows.first(std::min(rows.size(), static_cast<size_t>(std::max<int64_t>(num_whole, 0))));
}

std::optional<double> watched_value(const EpochRow& row, std::string_view metric) {
  return metric.empty() ? row.valid_loss.value_or(row.train_loss) : metric_in(row, metric);
}

bool improves(std::string_view metric, double value, double best, double min_delta) {
  return is_better(metric, value, is_larger_better(metric) ? best + min_delta : best - min_delta);
}

const EpochRow* best_epoch(std::span<const EpochRow> rows, const std::string& metric, double min_delta) {
  const EpochRow* best = nullptr;
  double best_value = 0;
  for (const EpochRow& row : rows) {
    const auto value = watched_value(row, metric);
    if (!value || (best != nullptr && !improves(metric, *value, best_value, min_delta))) continue;
    best = &row;
    best_value = *value;
  }
  return best;
}

}  // namespace rnnlab
