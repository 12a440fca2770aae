// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/system/json_fields.h"
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

using Group = const GroupResult&;
using GroupColumns = ColumnList<GroupResult>;

// Adds a column for each metric: "final_valid_rmse".
void add_metrics(GroupColumns& columns, const std::string& prefix, const std::vector<std::string>& names,
                 MetricValues (*medians_of)(Group)) {
  for (const std::string& name : names)
    columns.emplace_back(prefix + name, [=](Group group) {
      const MetricValues medians = medians_of(group);
      return medians.contains(name) ? std::optional(medians.at(name)) : std::nullopt;
    });
}

void add_in_each_line(GroupColumns& columns, const std::string& name, const std::vector<std::string>& texts) {
  columns.emplace_back(name, [texts](Group) { return texts; });
}

// Returns a function for a column of a part of a group that is not always there: its member, or nothing.
template <class PartOf, class Value, class Part>
auto of(PartOf part_of, Value Part::*member) {
  return [=](Group group) {
    const auto part = std::invoke(part_of, group);
    return part ? cell_text((*part).*member) : "";
  };
}

std::string reached_text(Group group) {
  const auto& time = group.target_time;
  return time ? fmt::format("{} of {}", time->num_reached, time->num_runs) : "";
}

std::optional<EnergyUse> energy_of(Group group) { return group.cost ? group.cost->energy : std::nullopt; }

// The order is that of the file, so later versions add columns at the end.
GroupColumns csv_columns(const Comparison& comparison) {
  const std::vector<std::string> metrics = metric_names(comparison);
  GroupColumns columns;
  add_fields(columns, {"label"});
  add_in_each_line(columns, "baseline", {comparison.baseline});
  add_fields(columns, {"seeds", "num_processes", "num_timed_epochs", "seconds", "low_seconds", "high_seconds", "ratio",
                       "ratio_low", "ratio_high", "mann_whitney_p", "verdict"});
  add_metrics(columns, "final_", metrics, final_medians);
  add_fields(columns, {"paths", "folders"});
  add_in_each_line(columns, "forced", comparison.forced);
  add_in_each_line(columns, "warnings", texts_of(comparison.warnings));
  add_in_each_line(columns, "notes", comparison.notes);
  add_in_each_line(columns, "differences", comparison.differences);
  add_fields(columns, {"ended", "bounds_are_spread", "is_paired", "microseconds_per_sample", "fit_seconds"});
  columns.emplace_back("largest_loss_difference", of(&GroupResult::loss_agreement, &LossAgreement::largest_difference));
  add_fields(columns, {"devices"});
  add_fields(columns, {"speed_up", "speed_up_low", "speed_up_high", "efficiency", "efficiency_low", "efficiency_high"},
             &GroupResult::device_speed);
  add_fields(columns, {"exchange_share", "slowest_over_fastest"});
  append(columns, {{"target_reached", reached_text},
                   {"target_seconds", of(&GroupResult::target_time, &TargetTime::seconds)},
                   {"target_low", of(&GroupResult::target_time, &TargetTime::low_seconds)},
                   {"target_high", of(&GroupResult::target_time, &TargetTime::high_seconds)}});
  add_fields(columns, {"is_other_work"});
  add_in_each_line(columns, "other_work", comparison.other_work);
  add_fields(columns, {"best_epochs"});
  add_metrics(columns, "best_", metrics, best_medians);
  add_fields(columns, {"joules", "watts", "joules_per_sample"}, energy_of);
  append(columns, {{"is_energy_of_cpu", of(energy_of, &EnergyUse::is_of_cpu)},
                   {"is_energy_shared", of(energy_of, &EnergyUse::is_shared)}});
  add_fields(columns, {"share_of_best_rate", "price"}, &GroupResult::cost);
  add_fields(columns, {"fold"});
  return columns;
}

}  // namespace

std::string comparison_csv(const Comparison& comparison) { return csv_of(csv_columns(comparison), comparison.groups); }

std::string comparison_text(const Comparison& comparison, const ComparisonAdditions& additions, size_t width,
                            Detail detail) {
  std::string text = comparison_text(comparison, width, detail);
  if (const auto& folds = additions.over_folds) text = ranking_text(*folds, width) + "\n" + text;
  if (const auto& matrices = additions.epoch_matrices) text += "\n" + epoch_matrices_text(*matrices, comparison, width);
  if (const auto& held = additions.held_equal) text += "\n" + held_equal_text(*held);
  return text;
}

std::string comparison_json(const Comparison& comparison, const ComparisonAdditions& additions) {
  Json json = to_json(comparison);
  if (additions.held_equal) json["held_equal"] = to_json(*additions.held_equal);
  if (additions.over_folds) json["over_folds"] = to_json(*additions.over_folds);
  if (additions.epoch_matrices) json["epoch_matrices"] = to_json(*additions.epoch_matrices);
  return json_text(json);
}

}  // namespace rnnlab
