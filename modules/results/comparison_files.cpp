// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "results/comparison_output.h"

namespace rnnlab {
namespace {

// Of the metrics on request, those of the compared runs.
std::vector<std::string> metric_names(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const EpochColumn& column : epoch_columns()) {
    const auto has_it = [&](const GroupResult& group) { return group.final_metrics.contains(column.name); };
    if (column.role != ColumnRole::kMetric) continue;
    if (!column.is_on_request || std::ranges::any_of(comparison.groups, has_it)) names.push_back(column.name);
  }
  return names;
}

std::string header(const std::vector<std::string>& metrics) {
  std::vector<std::string> names = {"label",      "baseline",       "seeds",        "num_processes", "num_timed_epochs",
                                    "seconds",    "low_seconds",    "high_seconds", "ratio",         "ratio_low",
                                    "ratio_high", "mann_whitney_p", "verdict"};
  for (const std::string& metric : metrics) names.push_back("final_" + metric);
  for (const char* name : {"paths",
                           "folders",
                           "forced",
                           "warnings",
                           "notes",
                           "differences",
                           "ended",
                           "bounds_are_spread",
                           "is_paired",
                           "microseconds_per_sample",
                           "fit_seconds",
                           "largest_loss_difference",
                           "devices",
                           "speed_up",
                           "speed_up_low",
                           "speed_up_high",
                           "efficiency",
                           "efficiency_low",
                           "efficiency_high",
                           "exchange_share",
                           "slowest_over_fastest",
                           "target_reached",
                           "target_seconds",
                           "target_low",
                           "target_high",
                           "is_other_work",
                           "other_work",
                           "best_epochs"})
    names.emplace_back(name);
  for (const std::string& metric : metrics) names.push_back("best_" + metric);
  for (const char* name :
       {"joules", "watts", "joules_per_sample", "is_energy_of_cpu", "is_energy_shared", "share_of_best_rate", "price"})
    names.emplace_back(name);
  return csv_line(names);
}

// Returns the fields about devices. Most runs use one device and have no speed-up.
std::vector<std::string> device_fields(const GroupResult& group) {
  const DeviceSpeed speed = group.device_speed.value_or(DeviceSpeed());
  return {fmt::format("{}", group.devices),      group.device_speed ? format_shortest(speed.speed_up) : "",
          csv_number(speed.speed_up_low),        csv_number(speed.speed_up_high),
          csv_number(speed.efficiency),          csv_number(speed.efficiency_low),
          csv_number(speed.efficiency_high),     csv_number(group.exchange_share),
          csv_number(group.slowest_over_fastest)};
}

std::vector<std::string> metric_fields(const std::vector<std::string>& metrics,
                                       const std::map<std::string, MetricSpread>& values) {
  std::vector<std::string> fields;
  for (const std::string& name : metrics) {
    const auto value = values.find(name);
    fields.push_back(value == values.end() ? "" : csv_number(value->second.median));
  }
  return fields;
}

// Returns the fields about training.stop_at, which most runs do not have.
std::vector<std::string> target_fields(const GroupResult& group) {
  if (!group.target_time) return {"", "", "", ""};
  const TargetTime& time = *group.target_time;
  return {fmt::format("{} of {}", time.num_reached, time.num_runs), csv_number(time.seconds),
          csv_number(time.low_seconds), csv_number(time.high_seconds)};
}

std::vector<std::string> cost_fields(const GroupResult& group) {
  const EpochCost cost = group.cost.value_or(EpochCost());
  std::vector<std::string> fields(5);
  if (const auto& energy = cost.energy)
    fields = {format_shortest(energy->joules), format_shortest(energy->watts),
              format_shortest(energy->joules_per_sample), energy->is_of_cpu ? "1" : "0", energy->is_shared ? "1" : "0"};
  fields.push_back(csv_number(cost.share_of_best_rate));
  fields.push_back(csv_number(cost.price));
  return fields;
}

std::string line(const GroupResult& group, const Comparison& comparison, const std::vector<std::string>& metrics) {
  std::vector<std::string> fields = {group.label,
                                     comparison.baseline,
                                     fmt::format("{}", fmt::join(group.seeds, " ")),
                                     fmt::format("{}", group.num_processes),
                                     fmt::format("{}", group.num_timed_epochs),
                                     csv_number(group.seconds),
                                     csv_number(group.low_seconds),
                                     csv_number(group.high_seconds),
                                     csv_number(group.ratio),
                                     csv_number(group.ratio_low),
                                     csv_number(group.ratio_high),
                                     csv_number(group.mann_whitney_p),
                                     group.verdict ? std::string(config::name_of(*group.verdict)) : ""};
  for (const std::string& field : metric_fields(metrics, group.final_metrics)) fields.push_back(field);
  for (const auto& texts : {group.paths, group.folders, comparison.forced, texts_of(comparison.warnings),
                            comparison.notes, comparison.differences})
    fields.push_back(join(texts, "; "));
  fields.push_back(group.ended);
  for (const bool is_so : {group.bounds_are_spread, group.is_paired}) fields.emplace_back(is_so ? "1" : "0");
  fields.push_back(csv_number(group.microseconds_per_sample));
  fields.push_back(csv_number(group.fit_seconds));
  fields.push_back(group.loss_agreement ? format_shortest(group.loss_agreement->largest_difference) : "");
  for (const auto& more : {device_fields(group), target_fields(group)})
    fields.insert(fields.end(), more.begin(), more.end());
  fields.emplace_back(group.is_other_work ? "1" : "0");
  fields.push_back(join(comparison.other_work, "; "));
  fields.push_back(fmt::format("{}", fmt::join(group.best_epochs, " ")));
  for (const auto& more : {metric_fields(metrics, group.best_metrics), cost_fields(group)})
    fields.insert(fields.end(), more.begin(), more.end());
  return csv_line(fields);
}

}  // namespace

std::string comparison_csv(const Comparison& comparison) {
  const std::vector<std::string> metrics = metric_names(comparison);
  std::string text = header(metrics);
  for (const GroupResult& group : comparison.groups) text += line(group, comparison, metrics);
  return text;
}

std::string comparison_json(const Comparison& comparison, const ComparisonAdditions& additions) {
  Json json = to_json(comparison);
  if (additions.held_equal) json["held_equal"] = to_json(*additions.held_equal);
  if (additions.epoch_matrices) json["epoch_matrices"] = to_json(*additions.epoch_matrices);
  return json_text(json);
}

}  // namespace rnnlab
