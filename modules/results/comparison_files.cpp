#include "results/comparison_files.h"

#include <fmt/format.h>

#include "base/numbers.h"
#include "base/text.h"
#include "system/json_fields.h"
#include "system/table.h"

namespace rnnlab {
namespace {

std::string number(const std::optional<double>& value) { return value ? format_shortest(*value) : ""; }

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const EpochColumn& column : epoch_columns())
    if (column.role == ColumnRole::kMetric) names.emplace_back(column.name);
  return names;
}

std::string header() {
  std::vector<std::string> names = {"label",      "baseline",       "seeds",        "num_processes", "num_timed_epochs",
                                    "seconds",    "low_seconds",    "high_seconds", "ratio",         "ratio_low",
                                    "ratio_high", "mann_whitney_p", "verdict"};
  for (const std::string& metric : metric_names()) names.push_back("final_" + metric);
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
                           "slowest_over_fastest"})
    names.emplace_back(name);
  return csv_line(names);
}

// Returns the fields about devices. Most runs use one device and have no speed-up.
std::vector<std::string> device_fields(const GroupResult& group) {
  const DeviceSpeed speed = group.device_speed.value_or(DeviceSpeed());
  return {fmt::format("{}", group.devices),  group.device_speed ? format_shortest(speed.speed_up) : "",
          number(speed.speed_up_low),        number(speed.speed_up_high),
          number(speed.efficiency),          number(speed.efficiency_low),
          number(speed.efficiency_high),     number(group.exchange_share),
          number(group.slowest_over_fastest)};
}

std::string line(const GroupResult& group, const Comparison& comparison) {
  std::vector<std::string> fields = {group.label,
                                     comparison.baseline,
                                     fmt::format("{}", fmt::join(group.seeds, " ")),
                                     fmt::format("{}", group.num_processes),
                                     fmt::format("{}", group.num_timed_epochs),
                                     number(group.seconds),
                                     number(group.low_seconds),
                                     number(group.high_seconds),
                                     number(group.ratio),
                                     number(group.ratio_low),
                                     number(group.ratio_high),
                                     number(group.mann_whitney_p),
                                     group.verdict ? std::string(config::name_of(*group.verdict)) : ""};
  for (const std::string& metric : metric_names()) {
    const auto found = group.final_metrics.find(metric);
    fields.push_back(found == group.final_metrics.end() ? "" : number(found->second.median));
  }
  for (const auto& texts : {group.paths, group.folders, comparison.forced, texts_of(comparison.warnings),
                            comparison.notes, comparison.differences})
    fields.push_back(join(texts, "; "));
  fields.push_back(group.ended);
  for (const bool is_so : {group.bounds_are_spread, group.is_paired}) fields.emplace_back(is_so ? "1" : "0");
  fields.push_back(number(group.microseconds_per_sample));
  fields.push_back(number(group.fit_seconds));
  fields.push_back(group.loss_agreement ? format_shortest(group.loss_agreement->largest_difference) : "");
  for (const std::string& field : device_fields(group)) fields.push_back(field);
  return csv_line(fields);
}

}  // namespace

std::string comparison_csv(const Comparison& comparison) {
  std::string text = header();
  for (const GroupResult& group : comparison.groups) text += line(group, comparison);
  return text;
}

std::string comparison_json(const Comparison& comparison, const ComparisonAdditions& additions) {
  Json json = to_json(comparison);
  if (additions.held_equal) json["held_equal"] = to_json(*additions.held_equal);
  if (additions.epoch_matrices) json["epoch_matrices"] = to_json(*additions.epoch_matrices);
  return json_text(json);
}

}  // namespace rnnlab
