// SPDX-License-Identifier: Apache-2.0
#include "results/device_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "results/checks.h"
#include "results/comparability.h"
#include "results/comparison.h"
#include "results/comparison_output.h"
#include "results/conditions.h"
#include "results/measuring_order.h"
#include "results/run_folder.h"
#include "results/waiting.h"

namespace rnnlab {
namespace {

using Groups = std::vector<RunGroup>;
using GroupFindings = std::vector<GroupFinding>;

const RunRecord& example_of(const RunGroup& group) { return *group.runs[0]; }

// Groups the runs by samples a device, with the fewest devices first.
std::map<double, Groups> by_samples_a_device(const Groups& groups) {
  std::map<double, Groups> series;
  for (const RunGroup& group : groups) series[samples_a_device(example_of(group))].push_back(group);
  for (auto& [samples, of_batch] : series)
    std::ranges::stable_sort(of_batch, {}, [](const RunGroup& group) { return num_devices(example_of(group)); });
  return series;
}

bool has_two_numbers_of_devices(const std::map<double, Groups>& series) {
  return std::ranges::any_of(series, [](const auto& one) {
    return num_devices(example_of(one.second.front())) != num_devices(example_of(one.second.back()));
  });
}

// ---- what must be equal ----

// Settings that change with the batch size do not affect the speed. Threads are compared separately.
bool affects_speed(const std::string& key) {
  constexpr std::array<std::string_view, 9> kByBatch = {
      "training.batch_size",  "training.valid_batch_size", "training.learning_rate",
      "training.decay_steps", "training.warmup_steps",     "training.num_threads",
      "training.epochs",      "training.max_steps",        "training.max_seconds"};
  const bool is_work = key.starts_with("training.") || key.starts_with("model.") || key == "deterministic";
  return is_work && std::ranges::find(kByBatch, key) == kByBatch.end();
}

using Values = std::vector<std::pair<std::string, std::string>>;

// Returns the properties of a run that must be equal, each with its name.
Values values_of(const RunRecord& run) {
  return {{"device", kind_of_device(run)},
          {"layer", run.summary.layer},
          {"CUDA graphs", graphs_text(run)},
          {"program", other_program(run).empty() ? "rnnlab" : other_program(run)},
          {"data", run.summary.identity.data_fingerprint.substr(0, 12)}};
}

void compare_settings(GroupFindings& found, const RunGroup& reference, const RunGroup& group) {
  const Settings &first = example_of(reference).config, &second = example_of(group).config;
  std::set<std::string> keys;
  for (const Settings* settings : {&first, &second})
    for (const auto& [key, value] : *settings)
      if (affects_speed(key)) keys.insert(key);
  for (const std::string& key : keys)
    add_unequal(found, reference, group, key, value_or_absent(first, key), value_or_absent(second, key));
}

// Batches, values that depend on the batch size, and threads have their own checks here. The settings are compared, so
// their hashes are not.
bool is_held_equal(std::string_view condition) {
  constexpr std::array<std::string_view, 5> kElsewhere = {
      "batch size", "model", "training settings", "samples an epoch", "number of threads (training.num_threads)"};
  return std::ranges::find(kElsewhere, condition) == kElsewhere.end();
}

void compare_threads(GroupFindings& found, const RunGroup& reference, const RunGroup& group) {
  const RunRecord &a = example_of(reference), &b = example_of(group);
  const bool may_differ = kind_of_device(a) != "cpu" && have_equal_total_threads(a, b);
  if (may_differ) return;
  add_unequal(found, reference, group, "threads of a process (training.num_threads)",
              std::to_string(a.summary.identity.num_threads), std::to_string(b.summary.identity.num_threads));
}

void compare_machines(GroupFindings& found, const RunGroup& reference, const RunGroup& group) {
  const RunRecord &a = example_of(reference), &b = example_of(group);
  for (const RunCondition& condition : run_conditions())
    if (is_held_equal(condition.what))
      add_unequal(found, reference, group, condition.what, condition.value(a), condition.value(b));
  append(found, unequal_machines(reference, group, OnUnequal::kRefuse));
}

// A process that trains alone does not have an engine, so groups are compared to the first group with an engine.
void compare_engines(GroupFindings& found, const Groups& groups) {
  const auto first =
      std::ranges::find_if(groups, [](const auto& group) { return !exchange_engine(example_of(group)).empty(); });
  if (first == groups.end()) return;
  for (const RunGroup& group : groups)
    add_unequal(found, *first, group, "engine of the exchange", exchange_engine(example_of(*first)),
                exchange_engine(example_of(group)));
}

void compare_devices(GroupFindings& found, const RunGroup& group) {
  if (std::ranges::any_of(group.runs, [](const RunRecord* run) { return has_changed_devices(*run); }))
    found.push_back({"the number of devices changed within ", group.label, ""});
}

std::vector<std::string> reasons_to_refuse(const std::map<double, Groups>& series, const Groups& groups) {
  GroupFindings found;
  for (const auto& [samples, of_batch] : series) {
    compare_engines(found, of_batch);
    for (const RunGroup& group : of_batch) {
      const RunGroup& reference = of_batch.front();
      compare_devices(found, group);
      if (&group == &reference) continue;
      const Values first = values_of(example_of(reference)), second = values_of(example_of(group));
      for (size_t i = 0; i < first.size(); ++i)
        add_unequal(found, reference, group, first[i].first, first[i].second, second[i].second);
      compare_settings(found, reference, group);
      compare_threads(found, reference, group);
      compare_machines(found, reference, group);
      add_unequal_processors(found, reference, group);
    }
  }
  append(found, shared_device_findings(groups));
  return texts_of(merged(found));
}

void refuse_scaling(const std::vector<std::string>& reasons) {
  throw_error(ExitCode::kUsage,
              "these runs differ in more than their devices and the batch that these share:\n  {}\n"
              "Name fewer runs, run all of them again under equal conditions, or use --force to compare anyway",
              join(reasons, "\n  "));
}

// ---- numbers ----

ScalingResult measured(const RunGroup& group) {
  const GroupTime times = time_of(group);
  ScalingResult result;
  result.label = group.label;
  result.devices = num_devices(example_of(group));
  result.batch_size = example_of(group).summary.identity.batch_size;
  result.num_processes = times.num_processes;
  result.num_timed_epochs = times.num_timed_epochs;
  for (const RunRecord* run : group.runs) result.folders.push_back(run->folder.string());
  const std::vector<EpochRow> rows = all_rows(group);
  result.exchange_share = exchange_share(rows);
  result.slowest_over_fastest = slowest_over_fastest(rows);
  const auto samples = samples_an_epoch(group);
  if (!samples || !times.seconds) return result;
  result.samples_per_second = *samples / *times.seconds;
  result.samples_per_second_of_device = *result.samples_per_second / static_cast<double>(result.devices);
  return result;
}

// The efficiency is the time of a device for one sample on the fewest devices, over that time on these devices.
void set_efficiency(ScalingResult& result, const RunGroup& group, const ScalingResult& fewest,
                    const RunGroup& reference) {
  if (!result.samples_per_second || !fewest.samples_per_second) return;
  const TimeRatio times = time_ratio(group, reference);
  const auto samples = samples_an_epoch(group), other_samples = samples_an_epoch(reference);
  const double work =
      *samples / static_cast<double>(result.devices) * static_cast<double>(fewest.devices) / *other_samples;
  result.efficiency = work / *times.ratio;
  result.is_paired = times.is_paired;
  if (!times.ratio_low) return;
  result.efficiency_low = work / *times.ratio_high;
  result.efficiency_high = work / *times.ratio_low;
}

ScalingSeries series_of(double samples_a_device, const Groups& groups) {
  ScalingSeries series{.samples_a_device = samples_a_device, .results = {}};
  for (const RunGroup& group : groups) {
    ScalingResult result = measured(group);
    if (!series.results.empty()) set_efficiency(result, group, series.results.front(), groups.front());
    series.results.push_back(std::move(result));
  }
  return series;
}

// Returns a text such as "64 samples on 1 device and 128 on 2".
std::string batches_text(const ScalingSeries& series) {
  std::vector<std::string> batches;
  for (const ScalingResult& result : series.results)
    add_once(batches, batches.empty() ? fmt::format("{} on {}", counted(result.batch_size, "sample"),
                                                    counted(result.devices, "device"))
                                      : fmt::format("{} on {}", result.batch_size, result.devices));
  return join_with_and(batches);
}

std::string training_note(const ScalingSeries& series) {
  if (series.results.size() < 2) return "";
  return fmt::format(
      "these runs did not train the same, because the batch of an update differs: {}; so their losses are not compared",
      batches_text(series));
}

void add_findings_on(DeviceScaling& scaling, const Groups& groups) {
  GroupFindings found;
  for (const RunGroup& group : groups) {
    for (const Warning& warning : ending_warnings(group)) add_once(scaling.warnings, warning);
    for (const std::string& note : pooling_notes(group)) add_once(scaling.notes, note);
    if (const auto copies = copies_warning(group)) add_once(scaling.notes, copies->text);
    append(found, quality_warnings(group));
    if (const auto order = order_warning(groups.front(), group)) found.push_back(*order);
    if (&group == groups.data()) continue;
    append(found, machine_warnings(groups.front(), group));
    append(found, missing_rounds(groups.front(), group));
  }
  append(found, shared_machine_warnings(groups));
  for (const Warning& warning : merged(found)) add_once(scaling.warnings, warning);
}

}  // namespace

DeviceScaling device_scaling(const std::vector<RunRecord>& runs, OnDifference on_difference) {
  const Groups groups = group_runs(runs);
  const auto series = by_samples_a_device(groups);
  if (!has_two_numbers_of_devices(series))
    throw_error(ExitCode::kUsage,
                "--scaling: no two of these runs have equal batches per device (training.batch_size over devices) on "
                "different numbers of devices; train such runs, or compare these without --scaling");
  DeviceScaling scaling;
  scaling.forced = reasons_to_refuse(series, groups);
  if (!scaling.forced.empty() && on_difference == OnDifference::kRefuse) refuse_scaling(scaling.forced);
  for (const auto& [samples, of_batch] : series) {
    scaling.series.push_back(series_of(samples, of_batch));
    add_once(scaling.notes, training_note(scaling.series.back()));
    add_findings_on(scaling, of_batch);
  }
  return scaling;
}

namespace {

std::string rate_text(const std::optional<double>& rate) { return rate ? fmt::format("{:.0f}", *rate) : "-"; }

TextTable series_table(const ScalingSeries& series) {
  TextTable table;
  table.add_column("run", Align::kLeft);
  for (const char* heading : {"devices", "batch", "processes", "epochs", "samples/s", "samples/s of a device",
                              "efficiency", "95 % interval", "exchange", "slowest"})
    table.add_column(heading, Align::kRight);
  for (const ScalingResult& result : series.results)
    table.add_row({result.label, std::to_string(result.devices), std::to_string(result.batch_size),
                   std::to_string(result.num_processes), std::to_string(result.num_timed_epochs),
                   rate_text(result.samples_per_second), rate_text(result.samples_per_second_of_device),
                   &result == series.results.data() ? "fewest" : percent_text(result.efficiency),
                   percent_range(result.efficiency_low, result.efficiency_high), percent_text(result.exchange_share),
                   excess_text(result.slowest_over_fastest)});
  return table;
}

std::string series_text(const ScalingSeries& series, size_t width) {
  constexpr size_t kBatch = 2, kProcesses = 3, kEpochs = 4, kSamplesOfDevice = 6, kInterval = 8, kExchange = 9,
                   kSlowest = 10;
  constexpr std::array kLeastImportant = {kEpochs,   kProcesses, kSamplesOfDevice, kSlowest,
                                          kExchange, kBatch,     kInterval};
  const FittedTable fitted = series_table(series).fitted(width, kLeastImportant);
  return fitted.table.text() + fitted.note("compare --scaling --csv");
}

std::string scaling_line(const ScalingResult& result, const ScalingSeries& series, const DeviceScaling& scaling) {
  return csv_line({format_shortest(series.samples_a_device), result.label, std::to_string(result.devices),
                   std::to_string(result.batch_size), std::to_string(result.num_processes),
                   std::to_string(result.num_timed_epochs), csv_number(result.samples_per_second),
                   csv_number(result.samples_per_second_of_device), csv_number(result.efficiency),
                   csv_number(result.efficiency_low), csv_number(result.efficiency_high), result.is_paired ? "1" : "0",
                   csv_number(result.exchange_share), csv_number(result.slowest_over_fastest),
                   join(result.folders, "; "), join(scaling.forced, "; "), join(texts_of(scaling.warnings), "; "),
                   join(scaling.notes, "; ")});
}

}  // namespace

std::string device_scaling_text(const DeviceScaling& scaling, size_t width) {
  std::string text;
  if (!scaling.forced.empty())
    text += "FORCED: this is not a fair comparison.\n" + lines_of_texts("  ", scaling.forced) + "\n";
  if (!scaling.warnings.empty()) text += lines_of_texts("WARNING: ", texts_of(scaling.warnings)) + "\n";
  for (const ScalingSeries& series : scaling.series)
    text += fmt::format("{} samples a device in each update:\n{}\n", format_shortest(series.samples_a_device),
                        series_text(series, width));
  text += "efficiency: training samples per second and device, relative to the fewest devices.\n";
  text += std::string(kExchangeLegend) + "\n";
  return without_controls(text + lines_of_texts("", scaling.notes));
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

}  // namespace rnnlab
