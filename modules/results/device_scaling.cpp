// SPDX-License-Identifier: Apache-2.0
#include "results/device_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/checks.h"
#include "results/comparability.h"
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

void compare_settings(GroupFindings& found, const RunGroup& reference, const RunGroup& group) {
  const Settings &first = example_of(reference).config, &second = example_of(group).config;
  std::set<std::string> keys;
  for (const Settings* settings : {&first, &second})
    for (const auto& [key, value] : *settings)
      if (affects_speed(key)) keys.insert(key);
  for (const std::string& key : keys)
    add_unequal(found, reference, group, key, value_or_absent(first, key), value_or_absent(second, key));
}

constexpr RunCondition kOwnConditions[] = {
    {"device", kind_of_device, ""},
    {"layer", [](const RunRecord& run) { return run.summary.layer; }, ""},
    {"CUDA graphs", graphs_text, ""},
    {"program", program_of, ""},
    {"data", [](const RunRecord& run) { return run.summary.identity.data_fingerprint.substr(0, 12); }, ""},
};

// Batches, values that depend on the batch size, and threads have their own checks here. The settings are compared, so
// their hashes are not.
bool is_held_equal(const RunCondition& condition) {
  constexpr std::array<std::string_view, 5> kElsewhere = {
      "batch size", "model", "training settings", "samples an epoch", "number of threads (training.num_threads)"};
  return std::ranges::find(kElsewhere, condition.what) == kElsewhere.end();
}

void compare_conditions(GroupFindings& found, const RunGroup& reference, const RunGroup& group,
                        std::span<const RunCondition> conditions) {
  for (const RunCondition& condition : conditions)
    if (is_held_equal(condition))
      add_unequal(found, reference, group, condition.what, condition.value(example_of(reference)),
                  condition.value(example_of(group)));
}

void compare_threads(GroupFindings& found, const RunGroup& reference, const RunGroup& group) {
  const RunRecord &a = example_of(reference), &b = example_of(group);
  const bool may_differ = kind_of_device(a) != "cpu" && have_equal_total_threads(a, b);
  if (may_differ) return;
  add_unequal(found, reference, group, "threads of a process (training.num_threads)",
              std::to_string(a.summary.identity.num_threads), std::to_string(b.summary.identity.num_threads));
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
      compare_conditions(found, reference, group, kOwnConditions);
      compare_settings(found, reference, group);
      compare_threads(found, reference, group);
      compare_conditions(found, reference, group, run_conditions());
      append(found, unequal_machines(reference, group, OnUnequal::kRefuse));
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
  static_cast<GroupFacts&>(result) = facts_of(group);
  result.batch_size = example_of(group).summary.identity.batch_size;
  result.num_processes = times.num_processes;
  result.num_timed_epochs = times.num_timed_epochs;
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
  const Speed efficiency = speed_of(times, work);
  result.efficiency = efficiency.value;
  result.efficiency_low = efficiency.low;
  result.efficiency_high = efficiency.high;
  result.is_paired = times.is_paired;
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

using Result = const ScalingResult&;

std::string rate_text(const std::optional<double>& rate) { return rate ? fmt::format("{:.0f}", *rate) : kNothing; }

ColumnList<ScalingResult> text_columns(const ScalingSeries& series) {
  using R = ScalingResult;
  constexpr Align kRight = Align::kRight;
  return {{"run", &R::label, Align::kLeft},
          {"devices", &R::devices},
          {"batch", &R::batch_size, kRight, 6},
          {"processes", &R::num_processes, kRight, 2},
          {"epochs", &R::num_timed_epochs, kRight, 1},
          {"samples/s", [](Result r) { return rate_text(r.samples_per_second); }},
          {"samples/s of a device", [](Result r) { return rate_text(r.samples_per_second_of_device); }, kRight, 3},
          {"efficiency", [&](Result r) { return &r == series.results.data() ? "fewest" : percent_text(r.efficiency); }},
          {"95 % interval", [](Result r) { return percent_range(r.efficiency_low, r.efficiency_high); }, kRight, 7},
          {"exchange", [](Result r) { return percent_text(r.exchange_share); }, kRight, 5},
          {"slowest", [](Result r) { return excess_text(r.slowest_over_fastest); }, kRight, 4}};
}

std::string series_text(const ScalingSeries& series, size_t width) {
  const FittedTable fitted = fitted_table(text_columns(series), series.results, width);
  return fitted.table.text() + fitted.note("compare --scaling --csv");
}

}  // namespace

std::string device_scaling_text(const DeviceScaling& scaling, size_t width) {
  std::string text = forced_lines(scaling.forced);
  if (!scaling.warnings.empty()) text += lines_of_texts("WARNING: ", texts_of(scaling.warnings)) + "\n";
  for (const ScalingSeries& series : scaling.series)
    text += fmt::format("{} samples a device in each update:\n{}\n", format_shortest(series.samples_a_device),
                        series_text(series, width));
  text += "efficiency: training samples per second and device, relative to the fewest devices.\n";
  text += std::string(kExchangeLegend) + "\n";
  return without_controls(text + lines_of_texts("", scaling.notes));
}

std::string device_scaling_csv(const DeviceScaling& scaling) {
  ColumnList<ScalingResult> columns = {{"samples_a_device", [](Result r) {
                                          return static_cast<double>(r.batch_size) / static_cast<double>(r.devices);
                                        }}};
  add_fields(columns, {"label", "devices", "batch_size", "num_processes", "num_timed_epochs", "samples_per_second",
                       "samples_per_second_of_device", "efficiency", "efficiency_low", "efficiency_high", "is_paired",
                       "exchange_share", "slowest_over_fastest", "folders"});
  append(columns, {{"forced", [&](Result) { return scaling.forced; }},
                   {"warnings", [&](Result) { return texts_of(scaling.warnings); }},
                   {"notes", [&](Result) { return scaling.notes; }}});
  std::vector<ScalingResult> results;
  for (const ScalingSeries& series : scaling.series)
    results.insert(results.end(), series.results.begin(), series.results.end());
  return csv_of(columns, results);
}

std::string device_scaling_json(const DeviceScaling& scaling) { return json_text(to_json(scaling)); }

}  // namespace rnnlab
