// SPDX-License-Identifier: Apache-2.0
#include "results/comparison.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>

#include "base/error.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/text.h"
#include "results/checks.h"
#include "results/comparability.h"
#include "results/folds.h"
#include "results/measuring_order.h"
#include "results/waiting.h"

namespace rnnlab {
namespace {

bool matches(const RunGroup& group, const std::string& baseline) {
  const auto normal = [](const std::filesystem::path& path) { return (path / "").lexically_normal(); };
  const auto is_its_folder = [&](const RunRecord* run) { return normal(run->folder) == normal(baseline); };
  return group.label == baseline || std::ranges::any_of(group.runs, is_its_folder) ||
         std::ranges::any_of(group.copies, is_its_folder);
}

bool has_time(const RunGroup& group) { return !timed_seconds(group).empty(); }

// Returns the first group that is complete and has a time, or else the first complete group, or else the first group
// with a time.
const RunGroup& default_baseline(const std::vector<RunGroup>& groups) {
  const auto has_both = [](const RunGroup& group) { return is_complete(group) && has_time(group); };
  for (bool (*is_fit)(const RunGroup&) : {+has_both, +is_complete, +has_time})
    if (const auto found = std::ranges::find_if(groups, is_fit); found != groups.end()) return *found;
  return groups[0];
}

const RunGroup& find_baseline(const std::vector<RunGroup>& groups, const std::string& baseline) {
  if (baseline.empty()) return default_baseline(groups);
  const auto found = std::ranges::find_if(groups, [&](const RunGroup& group) { return matches(group, baseline); });
  if (found != groups.end()) return *found;
  std::vector<std::string> labels;
  for (const RunGroup& group : groups) labels.push_back("'" + group.label + "'");
  labels.emplace_back("a run folder");
  throw_error(ExitCode::kUsage, "--baseline: {} does not match any run; choose {}", in_quotes(baseline),
              join_with_or(labels));
}

// The metric of a diverged run may be NaN, which has no order.
MetricSpread spread_of(const std::vector<double>& samples) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const bool has_nan = std::ranges::any_of(samples, [](double sample) { return std::isnan(sample); });
  if (has_nan) return {kNan, kNan, kNan};
  return {median(samples), std::ranges::min(samples), std::ranges::max(samples)};
}

using Metrics = std::map<std::string, double>;

std::map<std::string, MetricSpread> metric_spreads(const std::vector<Metrics>& runs) {
  std::map<std::string, std::vector<double>> values;
  for (const Metrics& run : runs)
    for (const auto& [name, value] : run) values[name].push_back(value);
  std::map<std::string, MetricSpread> spreads;
  for (const auto& [name, samples] : values) spreads[name] = spread_of(samples);
  return spreads;
}

// The summary also has the training loss of an interrupted epoch, beside the validation of the epoch before.
Metrics last_metrics(const RunRecord& run) {
  const std::span<const EpochRow> whole = whole_epochs(run);
  return whole.size() == run.rows.size() ? run.summary.final_metrics : final_metrics(whole);
}

void describe_metrics(const RunGroup& group, GroupResult& result) {
  std::vector<Metrics> last, best;
  for (const RunRecord* run : group.runs) {
    last.push_back(last_metrics(*run));
    const auto row = best_row(*run);
    if (!row) continue;
    result.best_epochs.push_back(row->epoch);
    best.push_back(final_metrics(std::span(&*row, 1)));
  }
  result.final_metrics = metric_spreads(last);
  if (best.size() == group.runs.size())
    result.best_metrics = metric_spreads(best);
  else
    result.best_epochs.clear();
}

GroupResult describe(const RunGroup& group) {
  GroupResult result;
  static_cast<GroupFacts&>(result) = facts_of(group);
  result.seeds = seeds(group);
  result.fold = fold_of(*group.runs[0]);
  result.ended = ending_text(group);
  describe_metrics(group, result);
  result.target_time = target_time(group);
  result.baselines = group.runs[0]->summary.baselines;
  for (const RunRecord* run : group.runs) {
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

// With kForce all differences are reasons to refuse.
bool is_other_work(const RunGroup& baseline, const RunGroup& group, OnDifference on_difference) {
  return on_difference != OnDifference::kForce && !other_work(baseline, group).empty();
}

std::vector<std::string> all_other_work(const RunGroup& baseline, const std::vector<RunGroup>& groups) {
  std::vector<GroupFinding> found;
  for (const RunGroup& group : groups) append(found, other_work(baseline, group));
  return texts_of(merged(found));
}

std::vector<std::string> all_differences(const RunGroup& baseline, const std::vector<RunGroup>& groups,
                                         OnDifference on_difference) {
  std::vector<GroupFinding> found;
  for (const RunGroup& group : groups) {
    append(found, is_other_work(baseline, group, on_difference) ? differences_beside_work(baseline, group)
                                                                : differences(baseline, group));
    // Runs of one group are compared, too, because a data file may have changed between two runs of one experiment.
    append(found, differences(group, group));
  }
  append(found, shared_device_findings(groups));
  return texts_of(merged(found));
}

// Changed files may explain the differences, so they come first. An edited config.yaml is left out, because the
// differences name the settings.
std::vector<std::string> changes_and(const std::vector<std::string>& differences, const std::vector<RunGroup>& groups,
                                     const std::vector<std::string>& other_work) {
  std::vector<std::string> all;
  for (const RunGroup& group : groups)
    for (const RunRecord* run : group.runs)
      for (const Warning& change : run->changed)
        if (change.kind != warning::kEditedConfig)
          all.push_back(fmt::format("{}: {}", run->folder.string(), change.text));
  for (const auto* reasons : {&differences, &other_work}) all.insert(all.end(), reasons->begin(), reasons->end());
  return all;
}

// Returns a line with the command for the runs of the newest sweep, or "" if all runs are of one sweep.
std::string advice_on_sweeps(const std::vector<RunGroup>& groups) {
  std::map<std::string, std::vector<const RunRecord*>> sweeps;
  const RunRecord* newest = nullptr;
  for (const RunGroup& group : groups)
    for (const RunRecord* run : group.runs) {
      sweeps[run->summary.turn.measurement].push_back(run);
      if (newest == nullptr || run->started > newest->started) newest = run;
    }
  if (sweeps.size() < 2 || newest->summary.turn.measurement.empty()) return "";
  std::string line = "\nThe runs of the newest sweep alone: rnnlab compare";
  for (const RunRecord* run : sweeps[newest->summary.turn.measurement])
    line += " " + shell_quoted(run->folder.string());
  return line;
}

void refuse_or_report(Comparison& comparison, std::vector<std::string> found, const std::vector<RunGroup>& groups,
                      OnDifference on_difference) {
  if (on_difference != OnDifference::kRefuse) {
    (on_difference == OnDifference::kForce ? comparison.forced : comparison.differences) = std::move(found);
    return;
  }
  if (found.empty()) return;
  throw_error(ExitCode::kUsage,
              "these runs did not do the same work under the same conditions:\n  {}\n"
              "Name fewer runs, run all of them again under equal conditions, or use --force to compare anyway{}",
              join(changes_and(found, groups, comparison.other_work), "\n  "), advice_on_sweeps(groups));
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

// The warnings and notes on groups, before alike ones are merged.
struct Findings {
  std::vector<GroupFinding> warnings, notes;
};

void add_findings(Findings& found, const RunGroup& baseline, const RunGroup& group, const GroupResult& result) {
  append(found.warnings, quality_warnings(group));
  append(found.warnings, unequal_seeds(group));
  append(found.notes, process_notes(group));
  if (result.is_other_work) return;
  append(found.warnings, warnings_between(baseline, group));
  if (&group != &baseline) append(found.warnings, missing_rounds(baseline, group));
  append(found.notes, comparability_notes(baseline, group));
  const auto order = order_warning(baseline, group);
  if (!order) return;
  const bool has_interval = result.ratio_low.has_value();
  (has_interval ? found.warnings : found.notes).push_back(*order);
}

GroupResult result_of(const RunGroup& group, const RunGroup& baseline, const std::vector<RunGroup>& groups,
                      const CompareOptions& options) {
  GroupResult result = describe(group);
  static_cast<GroupTime&>(result) = time_of(group);
  result.cost = epoch_cost(group, result.seconds, options.price_per_hour);
  result.fit_seconds = fit_seconds(group);
  result.device_speed = device_speed(group, groups);
  if (result.seconds) result.microseconds_per_sample = microseconds_per_sample(group, *result.seconds);
  result.is_other_work = is_other_work(baseline, group, options.on_difference);
  if (&group == &baseline || result.is_other_work) return result;
  static_cast<TimeRatio&>(result) = time_ratio(group, baseline);
  result.loss_agreement = loss_agreement(baseline, group);
  return result;
}

MetricValues medians_of(const std::map<std::string, MetricSpread>& spreads) {
  MetricValues medians;
  for (const auto& [name, spread] : spreads) medians[name] = spread.median;
  return medians;
}

}  // namespace

MetricValues final_medians(const GroupResult& group) { return medians_of(group.final_metrics); }
MetricValues best_medians(const GroupResult& group) { return medians_of(group.best_metrics); }

GroupFacts facts_of(const RunGroup& group) {
  const std::vector<EpochRow> rows = all_rows(group);
  GroupFacts facts{.label = group.label,
                   .folders = {},
                   .devices = num_devices(*group.runs[0]),
                   .exchange_share = exchange_share(rows),
                   .slowest_over_fastest = slowest_over_fastest(rows)};
  for (const RunRecord* run : group.runs) facts.folders.push_back(run->folder.string());
  return facts;
}

std::optional<TargetTime> target_time(const RunGroup& group) {
  TargetTime time;
  time.num_runs = std::ssize(group.runs);
  std::vector<double> seconds;
  for (const RunRecord* run : group.runs) {
    const auto& target = run->summary.target;
    if (!target || (run != group.runs[0] && target->stop_at != time.stop_at)) return std::nullopt;
    time.stop_at = target->stop_at;
    if (target->train_seconds) seconds.push_back(*target->train_seconds);
  }
  time.num_reached = std::ssize(seconds);
  const bool is_time = time.num_reached == time.num_runs && std::ranges::min(seconds) > 0;
  if (!is_time) return time;
  time.seconds = geometric_mean(seconds);
  if (time.num_runs < kMinProcessesForInterval) return time;
  const Interval bounds = geometric_mean_estimate(seconds).bounds;
  time.low_seconds = bounds.low;
  time.high_seconds = bounds.high;
  return time;
}

Comparison compare(const std::vector<RunRecord>& runs, const CompareOptions& options) {
  if (runs.empty()) throw_error(ExitCode::kUsage, "no runs to compare: name at least one run folder");
  const std::vector<RunGroup> groups = group_runs(runs);
  const RunGroup& baseline = find_baseline(groups, options.baseline);
  Comparison comparison;
  comparison.baseline = baseline.label;
  if (options.on_difference != OnDifference::kForce) comparison.other_work = all_other_work(baseline, groups);
  refuse_or_report(comparison, all_differences(baseline, groups, options.on_difference), groups, options.on_difference);
  add_once(comparison.notes, baseline_note(groups, baseline, options.baseline));
  Findings found;
  for (const RunGroup& group : groups) {
    comparison.groups.push_back(result_of(group, baseline, groups, options));
    add_once(comparison.notes, efficiency_note(group, groups));
    for (const Warning& warning : ending_warnings(group)) add_once(comparison.warnings, warning);
    for (const std::string& note : pooling_notes(group)) add_once(comparison.notes, note);
    if (const auto copies = copies_warning(group)) add_once(comparison.warnings, *copies);
    add_findings(found, baseline, group, comparison.groups.back());
  }
  append(found.warnings, shared_machine_warnings(groups));
  const std::vector<NamedSet> sets = sets_of_runs(groups);
  for (const Warning& warning : merged(found.warnings, sets)) add_once(comparison.warnings, warning);
  for (const Warning& note : merged(found.notes, sets)) add_once(comparison.notes, note.text);
  add_once(comparison.notes, few_seeds_note(groups));
  return comparison;
}

namespace {

const RunRecord& first_run(const RunGroup& group) { return *group.runs[0]; }

// Returns null if no group with the same work has fewer devices.
const RunGroup* same_work_on_fewest(const RunGroup& group, const std::vector<RunGroup>& groups) {
  const RunGroup* found = nullptr;
  int64_t fewest = num_devices(first_run(group));
  for (const RunGroup& other : groups) {
    const int64_t devices = num_devices(first_run(other));
    if (devices >= fewest || !differ_only_in_devices(first_run(group), first_run(other))) continue;
    fewest = devices;
    found = &other;
  }
  return found;
}

bool has_efficiency(const RunRecord& run, const RunRecord& reference) {
  return kind_of_device(run) != "cpu" || have_equal_threads(run, reference);
}

}  // namespace

std::optional<DeviceSpeed> device_speed(const RunGroup& group, const std::vector<RunGroup>& groups) {
  const RunGroup* reference = same_work_on_fewest(group, groups);
  if (reference == nullptr) return std::nullopt;
  const TimeRatio times = time_ratio(group, *reference);
  if (!times.ratio) return std::nullopt;
  const RunRecord &run = first_run(group), &other = first_run(*reference);
  DeviceSpeed speed;
  speed.reference = reference->label;
  speed.reference_devices = num_devices(other);
  const Speed whole = speed_of(times);
  speed.speed_up = *whole.value;
  speed.speed_up_low = whole.low;
  speed.speed_up_high = whole.high;
  if (!has_efficiency(run, other)) return speed;
  const Speed part = speed_of(times, static_cast<double>(num_devices(other)) / static_cast<double>(num_devices(run)));
  speed.efficiency = part.value;
  speed.efficiency_low = part.low;
  speed.efficiency_high = part.high;
  return speed;
}

std::string efficiency_note(const RunGroup& group, const std::vector<RunGroup>& groups) {
  const RunGroup* reference = same_work_on_fewest(group, groups);
  if (reference == nullptr || has_efficiency(first_run(group), first_run(*reference))) return "";
  return fmt::format(
      "no efficiency of {}: its processes have {} each, that of {} has {}; set training.num_threads to give all "
      "processes the same number",
      group.label, counted(first_run(group).summary.identity.num_threads, "thread"), reference->label,
      first_run(*reference).summary.identity.num_threads);
}

}  // namespace rnnlab
