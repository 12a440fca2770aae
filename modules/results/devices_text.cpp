#include "results/devices_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "results/comparison_text.h"
#include "results/csv_line.h"
#include "results/json_fields.h"

namespace rnnlab {
namespace {

constexpr const char* kAbsent = "-";
constexpr double kPercent = 100;

std::string percent_text(const std::optional<double>& part) {
  return part ? fmt::format("{:.1f} %", kPercent * *part) : kAbsent;
}

std::string percent_range(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? fmt::format("{:.1f} .. {:.1f} %", kPercent * *low, kPercent * *high) : kAbsent;
}

std::string factor_range(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? significant_digits(low, 3) + " .. " + significant_digits(high, 3) : kAbsent;
}

std::string rate_text(const std::optional<double>& rate) { return rate ? fmt::format("{:.0f}", *rate) : kAbsent; }

// "+3.1 %": how much longer the slowest process computes.
std::string excess_text(const std::optional<double>& quotient) {
  return quotient ? fmt::format("{:+.1f} %", kPercent * (*quotient - 1)) : kAbsent;
}

std::string lines_after(const std::string& prefix, const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += prefix + text + "\n";
  return all;
}

void add_columns(TextTable& table, const std::vector<const char*>& headings) {
  table.add_column("run", Align::kLeft);
  for (const char* heading : headings) table.add_column(heading, Align::kRight);
}

TextTable series_table(const ScalingSeries& series) {
  TextTable table;
  add_columns(table, {"devices", "batch", "processes", "epochs", "samples/s", "samples/s of a device", "efficiency",
                      "95 % interval", "exchange", "slowest"});
  for (const ScalingResult& result : series.results)
    table.add_row({result.label, std::to_string(result.devices), std::to_string(result.batch_size),
                   std::to_string(result.num_processes), std::to_string(result.num_timed_epochs),
                   rate_text(result.samples_per_second), rate_text(result.samples_per_second_of_device),
                   &result == series.results.data() ? "fewest" : percent_text(result.efficiency),
                   percent_range(result.efficiency_low, result.efficiency_high), percent_text(result.exchange_share),
                   excess_text(result.slowest_over_fastest)});
  return table;
}

constexpr const char* kExchangeLegend =
    "exchange: the part of an epoch that was spent in the exchange of gradients and that nothing hid; slowest: how "
    "much longer the slowest process computes than the fastest. Medians.";

std::string number_cell(const std::optional<double>& value) { return value ? format_shortest(*value) : ""; }

std::string scaling_line(const ScalingResult& result, const ScalingSeries& series, const DeviceScaling& scaling) {
  return csv_line({format_shortest(series.samples_a_device), result.label, std::to_string(result.devices),
                   std::to_string(result.batch_size), std::to_string(result.num_processes),
                   std::to_string(result.num_timed_epochs), number_cell(result.samples_per_second),
                   number_cell(result.samples_per_second_of_device), number_cell(result.efficiency),
                   number_cell(result.efficiency_low), number_cell(result.efficiency_high),
                   result.is_paired ? "1" : "0", number_cell(result.exchange_share),
                   number_cell(result.slowest_over_fastest), join(result.folders, "; "), join(scaling.forced, "; "),
                   join(texts_of(scaling.warnings), "; "), join(scaling.notes, "; ")});
}

}  // namespace

std::string device_scaling_text(const DeviceScaling& scaling) {
  std::string text;
  if (!scaling.forced.empty())
    text += "FORCED: this is not a fair comparison.\n" + lines_after("  ", scaling.forced) + "\n";
  if (!scaling.warnings.empty()) text += lines_after("WARNING: ", texts_of(scaling.warnings)) + "\n";
  for (const ScalingSeries& series : scaling.series)
    text += fmt::format("{} samples a device in each update:\n{}\n", format_shortest(series.samples_a_device),
                        series_table(series).text());
  text += "efficiency: training samples a second of a device over those of a device among the fewest.\n";
  text += std::string(kExchangeLegend) + "\n";
  return without_controls(text + lines_after("", scaling.notes));
}

std::string device_scaling_csv(const DeviceScaling& scaling) {
  std::string text =
      csv_line({"samples_a_device", "label", "devices", "batch_size", "num_processes", "num_timed_epochs",
                "samples_per_second", "samples_per_second_of_device", "efficiency", "efficiency_low", "efficiency_high",
                "is_paired", "exchange_share", "slowest_over_fastest", "folders", "forced", "warnings", "notes"});
  for (const ScalingSeries& series : scaling.series)
    for (const ScalingResult& result : series.results) text += scaling_line(result, series, scaling);
  return text;
}

std::string device_scaling_json(const DeviceScaling& scaling) { return json_text(to_json(scaling)); }

TextTable device_speed_table(const Comparison& comparison) {
  TextTable table;
  add_columns(
      table, {"devices", "against", "speed-up", "95 % interval", "efficiency", "95 % interval", "exchange", "slowest"});
  const std::vector<std::string> labels = short_labels(comparison);
  for (size_t i = 0; i < comparison.groups.size(); ++i) {
    const GroupResult& group = comparison.groups[i];
    if (!group.device_speed) continue;
    const DeviceSpeed& speed = *group.device_speed;
    table.add_row({labels[i], std::to_string(group.devices), std::to_string(speed.reference_devices),
                   significant_digits(speed.speed_up, 3), factor_range(speed.speed_up_low, speed.speed_up_high),
                   percent_text(speed.efficiency), percent_range(speed.efficiency_low, speed.efficiency_high),
                   percent_text(group.exchange_share), excess_text(group.slowest_over_fastest)});
  }
  return table;
}

std::vector<std::string> device_speed_legend() {
  return {
      "speed-up: over the same work on the fewest devices; efficiency: the speed-up over how many times as many "
      "devices there are.",
      kExchangeLegend};
}

}  // namespace rnnlab
