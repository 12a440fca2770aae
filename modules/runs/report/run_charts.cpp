// SPDX-License-Identifier: Apache-2.0
#include "runs/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/config/sweep.h"
#include "base/text.h"
#include "results/comparison_output.h"
#include "results/run_folder.h"
#include "runs/report/report.h"

namespace rnnlab::report {
namespace {

const Axis kEpochAxis = {.name = "epoch"};
const Axis kWallTimeAxis = {.name = "wall time of training and validation", .unit = "s"};
const Axis kEpochTimeAxis = {.name = "training time of an epoch", .unit = "s"};

enum class XAxis { kEpoch, kWallTime };

using Quantity = std::function<std::optional<double>(const EpochRow&)>;

std::vector<Point> points_of(const RunRecord& run, XAxis x_axis, const Quantity& quantity) {
  std::vector<Point> points;
  double seconds = 0;
  for (const EpochRow& row : run.rows) {
    seconds += row.train_seconds + row.valid_seconds.value_or(0);
    const double x = x_axis == XAxis::kEpoch ? static_cast<double>(row.epoch) : seconds;
    if (const auto y = quantity(row)) points.push_back({x, *y, row.warmup ? "warm-up" : ""});
  }
  return points;
}

std::vector<Curve> curves_of(const std::vector<RunGroup>& groups, XAxis x_axis, const Quantity& quantity) {
  std::vector<Curve> curves;
  for (size_t style = 0; style < groups.size(); ++style) {
    const RunGroup& group = groups[style];
    const std::vector<std::string> names = run_names(group);
    for (size_t i = 0; i < group.runs.size(); ++i) {
      std::vector<Point> points = points_of(*group.runs[i], x_axis, quantity);
      if (!points.empty()) curves.push_back({group.label, names[i], std::move(points), style});
    }
  }
  return curves;
}

struct CurveText {
  std::string id, title, description;
};

Chart curve_chart(const std::vector<RunGroup>& groups, XAxis x_axis, Axis y, const Quantity& quantity, CurveText text) {
  std::vector<Curve> curves = curves_of(groups, x_axis, quantity);
  std::vector<double> values;
  for (const Curve& curve : curves)
    for (const Point& point : curve.points) values.push_back(point.y);
  y.scale = scale_for(values);
  if (x_axis == XAxis::kWallTime) {
    text.id += "-by-wall-time";
    text.title += " by wall time";
  } else {
    text.title += " by epoch";
  }
  return {.id = text.id,
          .title = text.title,
          .description = text.description,
          .data = x_axis == XAxis::kEpoch ? Prominence::kOpen : Prominence::kFolded,
          .body = Curves{x_axis == XAxis::kEpoch ? kEpochAxis : kWallTimeAxis, y, std::move(curves)}};
}

bool has_any(const std::vector<RunGroup>& groups, const EpochColumn& column) {
  return std::ranges::any_of(groups, [&](const RunGroup& group) {
    return std::ranges::any_of(group.runs, [&](const RunRecord* run) {
      return std::ranges::any_of(run->rows, [&](const EpochRow& row) { return number_in(row, column).has_value(); });
    });
  });
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string with_underscores_as(char other, std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', other);
  return text;
}

// Returns "valid loss", or "valid RMSE", because an abbreviation has capital letters.
std::string name_in_titles(const EpochColumn& column) {
  const bool is_abbreviated = std::ranges::any_of(column.heading, [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_abbreviated ? column.heading : with_underscores_as(' ', column.name);
}

// Returns the sentence that says what a line of the chart is.
std::string about_curves(const std::vector<RunGroup>& groups) {
  const bool have_bands = std::ranges::any_of(groups, [](const RunGroup& group) { return group.runs.size() > 1; });
  return have_bands ? "Of several runs the median, with a band from the smallest to the largest." : "One curve a run.";
}

Chart metric_chart(const std::vector<RunGroup>& groups, const EpochColumn& column, XAxis x_axis,
                   const std::string& prefix) {
  const std::string name = name_in_titles(column);
  return curve_chart(groups, x_axis, {.name = name}, [&](const EpochRow& row) { return number_in(row, column); },
                     {.id = prefix + "-" + with_underscores_as('-', column.name),
                      .title = capitalized(name),
                      .description = about_curves(groups)});
}

std::optional<Interval> interval_of(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? std::optional(Interval{*low, *high}) : std::nullopt;
}

// Returns the curve of speed-ups for the same work on several numbers of devices, starting with the fewest devices.
Curve speed_up_curve(const Comparison& comparison, const DeviceSpeed& reference) {
  Curve curve{.group = "over " + reference.reference, .name = "over " + reference.reference};
  curve.points.push_back({static_cast<double>(reference.reference_devices), 1});
  for (const GroupResult& group : comparison.groups)
    if (group.device_speed && group.device_speed->reference == reference.reference)
      curve.points.push_back({static_cast<double>(group.devices), group.device_speed->speed_up, "",
                              interval_of(group.device_speed->speed_up_low, group.device_speed->speed_up_high)});
  std::ranges::stable_sort(curve.points, {}, &Point::x);
  return curve;
}

// Returns the ideal speed-up at each number of devices in the chart.
Curve ideal_curve(int64_t fewest_devices, const std::set<double>& devices) {
  const auto fewest = static_cast<double>(fewest_devices);
  const std::string name = fewest_devices == 1 ? "ideal" : fmt::format("ideal, from {} devices on", fewest_devices);
  Curve curve{.group = name, .name = name};
  for (const double number : devices)
    if (number >= fewest) curve.points.push_back({number, number / fewest});
  return curve;
}

}  // namespace

std::vector<std::string> run_names(const RunGroup& group) {
  if (group.runs.size() == 1) return {group.label};
  std::vector<std::string> names;
  for (const RunRecord* run : group.runs) {
    const std::string name = fmt::format("{}, seed {}", group.label, run->summary.seed);
    const auto taken = [&](const std::string& other) { return other == name || other.starts_with(name + " ("); };
    const auto num_taken = std::ranges::count_if(names, taken);
    names.push_back(num_taken == 0 ? name : fmt::format("{} ({})", name, num_taken + 1));
  }
  return names;
}

std::vector<Chart> time_curves(const std::vector<RunGroup>& groups, const std::string& prefix) {
  const auto seconds = [](const EpochRow& row) { return std::optional(row.train_seconds); };
  const CurveText text = {.id = prefix + "-epoch-time",
                          .title = "Epoch time",
                          .description = about_curves(groups) +
                                         " Hollow points are warm-up epochs, which no time of the comparison includes. "
                                         "Lower is faster."};
  return {curve_chart(groups, XAxis::kEpoch, kEpochTimeAxis, seconds, text),
          curve_chart(groups, XAxis::kWallTime, kEpochTimeAxis, seconds, text)};
}

std::vector<Chart> metric_curves(const std::vector<RunGroup>& groups, const std::string& prefix) {
  std::vector<Chart> charts;
  for (const EpochColumn& column : epoch_columns()) {
    if (!is_shown(column) || !has_any(groups, column)) continue;
    charts.push_back(metric_chart(groups, column, XAxis::kEpoch, prefix));
    if (column.name != "train_loss") charts.back().data = Prominence::kFolded;
    if (column.name.ends_with("_loss")) charts.push_back(metric_chart(groups, column, XAxis::kWallTime, prefix));
  }
  return charts;
}

std::vector<Chart> time_bars(const Comparison& comparison, const std::string& prefix) {
  Bars times = {kEpochTimeAxis, {}};
  Bars ratios = {{.name = "time over that of " + comparison.baseline}, {}};
  for (size_t style = 0; style < comparison.groups.size(); ++style) {
    const GroupResult& group = comparison.groups[style];
    if (!group.seconds) continue;
    times.bars.push_back({group.label, *group.seconds, interval_of(group.low_seconds, group.high_seconds), style});
    if (group.ratio)
      ratios.bars.push_back({group.label, *group.ratio, interval_of(group.ratio_low, group.ratio_high), style});
    else if (group.label == comparison.baseline)
      ratios.bars.push_back({group.label, 1, std::nullopt, style});
  }
  std::vector<Chart> charts;
  if (!times.bars.empty())
    charts.push_back({.id = prefix + "-median-epoch-time",
                      .title = "Training time of an epoch",
                      .description =
                          "A process's median epoch after warm-up, geometric mean over processes. The whiskers "
                          "are 95 % intervals; of fewer than three processes they are the smallest and the "
                          "largest epoch.",
                      .body = times});
  if (ratios.bars.size() > 1)
    charts.push_back({.id = prefix + "-ratio",
                      .title = not_comparable(comparison) + "Ratio of the times",
                      .description = fmt::format("To {}, which is 1. Below 1 is faster. The whiskers are 95 % "
                                                 "intervals, from three processes a side on.",
                                                 comparison.baseline),
                      .body = ratios});
  return charts;
}

std::vector<Chart> speed_up_curves(const Comparison& comparison, const std::string& prefix) {
  std::vector<Curve> curves;
  std::set<int64_t> fewest;
  std::set<double> devices;
  std::set<std::string> drawn;
  for (const GroupResult& group : comparison.groups) {
    if (!group.device_speed || !drawn.insert(group.device_speed->reference).second) continue;
    curves.push_back(speed_up_curve(comparison, *group.device_speed));
    fewest.insert(group.device_speed->reference_devices);
    for (const Point& point : curves.back().points) devices.insert(point.x);
  }
  if (curves.empty()) return {};
  for (const int64_t number : fewest) curves.push_back(ideal_curve(number, devices));
  for (size_t i = 0; i < curves.size(); ++i) curves[i].style = i;
  return {{.id = prefix + "-speed-up",
           .title = not_comparable(comparison) + "Speed-up by devices",
           .description =
               "The time of an epoch on the fewest devices over that on more, at the same work. The whiskers "
               "are 95 % intervals, from three processes a side on.",
           .data = Prominence::kOpen,
           .body = Curves{{.name = "devices"}, {.name = "speed-up"}, std::move(curves)}}};
}

namespace {

constexpr size_t kMostKeys = 3;

std::string setting(const RunGroup& group, const std::string& key) {
  return value_or_absent(group.runs[0]->config, key);
}

// Returns the settings that distinguish the map's rows: "cpu fused batch_size 64". The axes have the full keys.
std::string row_of(const RunGroup& group, const std::vector<std::string>& keys) {
  std::string row = group.runs[0]->summary.device + " " + group.runs[0]->summary.layer;
  for (const std::string& key : keys) row += fmt::format(" {} {}", config::last_part(key), setting(group, key));
  return row;
}

// Returns ", the geometric mean of 5 processes' medians" or "of 3 to 5"; "" if one process measured each cell.
std::string pooled_text(const Comparison& comparison) {
  std::vector<int64_t> counts;
  for (const GroupResult& group : comparison.groups)
    if (group.seconds) counts.push_back(group.num_processes);
  if (counts.empty() || std::ranges::max(counts) == 1) return "";
  const auto [least, most] = std::ranges::minmax(counts);
  const std::string fewer = least == most ? "" : fmt::format("{} to ", least);
  return fmt::format(", the geometric mean of {}{} processes' medians", fewer, most);
}

}  // namespace

std::vector<Chart> sweep_maps(const std::vector<RunGroup>& groups, const Comparison& comparison,
                              const std::string& prefix) {
  std::vector<std::string> row_keys = differing_settings(groups);
  if (row_keys.empty() || row_keys.size() > kMostKeys) return {};
  const std::string column_key = row_keys.back();
  row_keys.pop_back();
  HeatMap map = {.x = {.name = column_key},
                 .y = {.name = "device layer"},
                 .value = {.name = "training time of an epoch", .unit = "s"}};
  for (const std::string& key : row_keys) map.y.name += " " + key;
  std::vector<MapValue> values;
  for (size_t i = 0; i < groups.size(); ++i)
    values.push_back({row_of(groups[i], row_keys), setting(groups[i], column_key), comparison.groups[i].seconds});
  // Groups may differ in more than their settings, for example by machine or revision.
  std::optional<HeatMap> filled = with_values(std::move(map), values);
  if (!filled || filled->columns.size() < 2 || filled->rows.size() < 2) return {};
  return {{.id = prefix + "-sweep",
           .title = "The sweep: seconds of an epoch" + pooled_text(comparison),
           .description = fmt::format("The training time of an epoch over {}. Less is faster.", column_key),
           .data = Prominence::kOpen,
           .body = *std::move(filled)}};
}

}  // namespace rnnlab::report
