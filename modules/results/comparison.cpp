#include "results/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/statistics.h"
#include "base/text.h"
#include "results/checks.h"
#include "results/comparability.h"
#include "results/devices.h"
#include "results/measuring_order.h"
#include "results/process_times.h"
#include "results/waiting.h"

namespace rnnlab {
namespace {

bool is_meant(const RunGroup& group, const std::string& baseline) {
  const auto normal = [](const std::filesystem::path& path) { return (path / "").lexically_normal(); };
  const auto is_its_folder = [&](const RunRecord* run) { return normal(run->folder) == normal(baseline); };
  return group.label == baseline || std::ranges::any_of(group.runs, is_its_folder) ||
         std::ranges::any_of(group.copies, is_its_folder);
}

bool has_time(const RunGroup& group) { return !timed_seconds(group).empty(); }

// Returns the first group that is complete and has a time, or else the first complete group, or else the first group
// with a time.
const RunGroup& first_to_measure_by(const std::vector<RunGroup>& groups) {
  const auto has_both = [](const RunGroup& group) { return is_complete(group) && has_time(group); };
  for (bool (*is_fit)(const RunGroup&) : {+has_both, +is_complete, +has_time})
    if (const auto found = std::ranges::find_if(groups, is_fit); found != groups.end()) return *found;
  return groups[0];
}

const RunGroup& find_baseline(const std::vector<RunGroup>& groups, const std::string& baseline) {
  if (baseline.empty()) return first_to_measure_by(groups);
  const auto found = std::ranges::find_if(groups, [&](const RunGroup& group) { return is_meant(group, baseline); });
  if (found != groups.end()) return *found;
  std::vector<std::string> labels;
  for (const RunGroup& group : groups) labels.push_back("'" + group.label + "'");
  labels.emplace_back("a run folder");
  throw_error(ExitCode::kUsage, "--baseline: {} does not match any run; choose {}", in_quotes(baseline),
              one_of(labels));
}

// The metric of a diverged run may be NaN, which has no order.
MetricSpread spread_of(const std::vector<double>& samples) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const bool has_nan = std::ranges::any_of(samples, [](double sample) { return std::isnan(sample); });
  if (has_nan) return {kNan, kNan, kNan};
  return {median(samples), std::ranges::min(samples), std::ranges::max(samples)};
}

std::map<std::string, MetricSpread> metric_spreads(const RunGroup& group) {
  std::map<std::string, std::vector<double>> values;
  for (const RunRecord* run : group.runs)
    for (const auto& [name, value] : run->summary.final_metrics) values[name].push_back(value);
  std::map<std::string, MetricSpread> spreads;
  for (const auto& [name, samples] : values) spreads[name] = spread_of(samples);
  return spreads;
}

GroupResult describe(const RunGroup& group) {
  GroupResult result;
  result.label = group.label;
  result.seeds = seeds(group);
  result.ended = ending_text(group);
  result.final_metrics = metric_spreads(group);
  result.devices = num_devices(*group.runs[0]);
  const std::vector<EpochRow> rows = all_rows(group);
  result.exchange_share = exchange_share(rows);
  result.slowest_over_fastest = slowest_over_fastest(rows);
  for (const RunRecord* run : group.runs) {
    result.folders.push_back(run->folder.string());
    add_once(result.paths, run->summary.path);
    for (const std::string& note : run->summary.path_notes) add_once(result.path_notes, note);
  }
  return result;
}

std::optional<double> microseconds_per_sample(const RunGroup& group, double epoch_seconds) {
  constexpr double kMicroseconds = 1e6;
  const auto samples = samples_an_epoch(group);
  return samples ? std::optional(epoch_seconds * kMicroseconds / *samples) : std::nullopt;
}

// Runs that are not complete do not have the time of a whole fit.
std::optional<double> fit_seconds(const RunGroup& group) {
  if (!is_complete(group)) return std::nullopt;
  std::vector<double> seconds;
  for (const RunRecord* run : group.runs)
    if (std::isfinite(run->summary.fit_seconds)) seconds.push_back(run->summary.fit_seconds);
  if (seconds.size() < group.runs.size()) return std::nullopt;
  return median(seconds);
}

void append(std::vector<Remark>& all, const std::vector<Remark>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::vector<std::string> all_differences(const RunGroup& baseline, const std::vector<RunGroup>& groups) {
  std::vector<Remark> found;
  for (const RunGroup& group : groups) {
    append(found, differences(baseline, group));
    // Runs of one group are compared, too, because a data file may have changed between two runs of one experiment.
    append(found, differences(group, group));
  }
  append(found, runs_that_shared(groups));
  return texts_of(merged(found));
}

// Changed files may explain the differences, so they come first. An edited config.yaml is left out, because the
// differences name the settings.
std::vector<std::string> changes_and(const std::vector<std::string>& differences, const std::vector<RunGroup>& groups) {
  std::vector<std::string> all;
  for (const RunGroup& group : groups)
    for (const RunRecord* run : group.runs)
      for (const Warning& change : run->changed)
        if (change.kind != warning::kEditedConfig)
          all.push_back(fmt::format("{}: {}", run->folder.string(), change.text));
  all.insert(all.end(), differences.begin(), differences.end());
  return all;
}

void refuse_or_keep(Comparison& comparison, std::vector<std::string> found, const std::vector<RunGroup>& groups,
                    OnDifference on_difference) {
  if (on_difference != OnDifference::kRefuse) {
    (on_difference == OnDifference::kForce ? comparison.forced : comparison.differences) = std::move(found);
    return;
  }
  if (found.empty()) return;
  throw_error(ExitCode::kUsage,
              "these runs did not do the same work under the same conditions:\n  {}\n"
              "Run them again under equal conditions, or use --force to compare anyway",
              join(changes_and(found, groups), "\n  "));
}

std::string baseline_note(const std::vector<RunGroup>& groups, const RunGroup& baseline, const std::string& wanted) {
  if (!wanted.empty()) return "";
  if (!is_complete(baseline)) return "no run is complete, so the baseline is an incomplete run";
  if (&baseline == groups.data()) return "";
  if (is_complete(groups[0]))
    return fmt::format("{} is not used as the baseline because it has no epoch after warm-up", groups[0].label);
  return fmt::format("{} ({}) is not used as the baseline; use --baseline to choose it anyway", groups[0].label,
                     ending_text(groups[0]));
}

}  // namespace

Comparison compare(const std::vector<RunRecord>& runs, const CompareOptions& options) {
  if (runs.empty()) throw_error(ExitCode::kUsage, "no runs to compare: name at least one run folder");
  const std::vector<RunGroup> groups = group_runs(runs);
  const RunGroup& baseline = find_baseline(groups, options.baseline);
  Comparison comparison;
  comparison.baseline = baseline.label;
  refuse_or_keep(comparison, all_differences(baseline, groups), groups, options.on_difference);
  add_once(comparison.notes, baseline_note(groups, baseline, options.baseline));
  std::vector<Remark> all_doubts, remarks;
  for (const RunGroup& group : groups) {
    GroupResult& result = comparison.groups.emplace_back(describe(group));
    measure_time(result, group);
    result.fit_seconds = fit_seconds(group);
    result.device_speed = device_speed(group, groups);
    add_once(comparison.notes, efficiency_note(group, groups));
    if (result.seconds) result.microseconds_per_sample = microseconds_per_sample(group, *result.seconds);
    if (&group != &baseline) {
      set_against(result, group, baseline);
      result.loss_agreement = loss_agreement(baseline, group);
    }
    for (const Warning& warning : ending_warnings(group)) add_once(comparison.warnings, warning);
    for (const std::string& note : pooling_notes(group)) add_once(comparison.notes, note);
    append(all_doubts, doubts(group));
    append(all_doubts, doubts_between(baseline, group));
    if (&group != &baseline) append(all_doubts, missing_rounds(baseline, group));
    append(remarks, comparability_notes(baseline, group));
    append(remarks, process_notes(group));
    if (const auto order = order_remark(baseline, group)) {
      const bool has_interval = result.ratio_low.has_value();
      (has_interval ? all_doubts : remarks).push_back(*order);
    }
  }
  append(all_doubts, runs_on_one_machine(groups));
  for (const Warning& warning : merged(all_doubts)) add_once(comparison.warnings, warning);
  for (const Warning& remark : merged(remarks)) add_once(comparison.notes, remark.text);
  add_once(comparison.notes, few_seeds_note(groups));
  return comparison;
}

namespace {

TimeVerdict verdict_of(const Interval& ratio) {
  if (ratio.high < 1) return TimeVerdict::kFaster;
  if (ratio.low > 1) return TimeVerdict::kSlower;
  const bool is_narrow = ratio.high <= kLargestUnseenRatio && ratio.low >= 1 / kLargestUnseenRatio;
  return is_narrow ? TimeVerdict::kNoDifference : TimeVerdict::kUndecided;
}

Interval bounds_of(const std::vector<double>& processes, const std::vector<double>& epochs) {
  if (std::ssize(processes) >= kFewestForInterval) return geometric_mean_estimate(processes).bounds;
  const auto [low, high] = std::ranges::minmax(epochs);
  return {low, high};
}

}  // namespace

void measure_time(GroupResult& result, const RunGroup& group) {
  const std::vector<double> epochs = timed_seconds(group);
  const std::vector<double> processes = seconds_of(process_times(group));
  result.num_processes = std::ssize(processes);
  result.num_timed_epochs = std::ssize(epochs);
  if (epochs.empty()) return;
  const Interval bounds = bounds_of(processes, epochs);
  result.seconds = geometric_mean(processes);
  result.low_seconds = bounds.low;
  result.high_seconds = bounds.high;
  result.bounds_are_spread = result.num_processes < kFewestForInterval;
}

void set_against(GroupResult& result, const RunGroup& group, const RunGroup& baseline) {
  result.verdict = TimeVerdict::kNone;
  const std::vector<ProcessTime> own = process_times(group), others = process_times(baseline);
  if (own.empty() || others.empty()) return;
  const std::vector<double> seconds = seconds_of(own), baseline_seconds = seconds_of(others);
  result.ratio = geometric_mean(seconds) / geometric_mean(baseline_seconds);
  const int64_t fewest = std::min(std::ssize(seconds), std::ssize(baseline_seconds));
  if (fewest < kFewestForInterval) return;
  const auto pairs = paired_by_round(own, others);
  const Interval bounds =
      (pairs ? paired_ratio(pairs->first, pairs->second) : unpaired_ratio(seconds, baseline_seconds)).bounds;
  result.ratio_low = bounds.low;
  result.ratio_high = bounds.high;
  result.is_paired = pairs.has_value();
  result.mann_whitney_p = mann_whitney(seconds, baseline_seconds).p_value;
  if (fewest >= kFewestForVerdict) result.verdict = verdict_of(bounds);
}

}  // namespace rnnlab
