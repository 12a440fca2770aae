// SPDX-License-Identifier: Apache-2.0
// Compares runs by their epoch times. Runs of the same work with several seeds are pooled, every group is compared to a
// baseline, and runs of different work are refused. The result contains the reasons to doubt its numbers. Intervals and
// verdicts are over the processes that trained the runs (process_times.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/files.h"
#include "base/system/warning.h"
#include "results/epoch_cost.h"
#include "results/loss_agreement.h"
#include "results/process_times.h"
#include "results/quality.h"
#include "results/run_record.h"

namespace rnnlab {

// Describes a final metric over the runs of a group: median, smallest and largest value; all are NaN if one run has
// NaN.
struct MetricSpread {
  double median = 0;
  double low = 0;
  double high = 0;

  RNNLAB_FIELDS(median, low, high)
};

// Compares the speed of several devices with the speed of fewer devices at the same work. The intervals require at
// least three processes on each side, as for a ratio of times (comparison.h).
struct DeviceSpeed {
  std::string reference;          // the label of the same work on the fewest devices
  int64_t reference_devices = 1;  // number of devices of the reference
  // The speed-up is the reference's seconds over this group's.
  double speed_up = 0;
  std::optional<double> speed_up_low, speed_up_high;
  // The efficiency is the speed-up over the quotient of the numbers of devices. It is absent on CPUs whose processes
  // have different numbers of threads, because more devices are then not more CPUs.
  std::optional<double> efficiency, efficiency_low, efficiency_high;

  RNNLAB_FIELDS(reference, reference_devices, speed_up, speed_up_low, speed_up_high, efficiency, efficiency_low,
                efficiency_high)
};

// The seconds of training until training.stop_at was reached (TargetRecord), over the runs of a group.
struct TargetTime {
  MetricValues stop_at;
  int64_t num_runs = 0;
  int64_t num_reached = 0;
  std::optional<double> seconds;                    // the geometric mean, if all runs reached it
  std::optional<double> low_seconds, high_seconds;  // 95 % interval, for at least three runs

  RNNLAB_FIELDS(stop_at, num_runs, num_reached, seconds, low_seconds, high_seconds)
};

// What runs of a group have in common, in any kind of comparison.
struct GroupFacts {
  std::string label;
  std::vector<std::string> folders;
  int64_t devices = 1;                   // number of devices that trained a run together, one process each
  std::optional<double> exchange_share;  // part of an epoch in the exchange without overlap with other work (median)
  std::optional<double> slowest_over_fastest;  // slowest process of an epoch over the fastest (median)
};
GroupFacts facts_of(const RunGroup& group);

// The members of TimeRatio are absent for the baseline itself.
struct GroupResult : GroupFacts, GroupTime, TimeRatio {
  std::vector<int64_t> seeds;
  std::optional<int64_t> fold;  // of a back-test (data.fold), whose folds are different data
  std::string ended;            // "complete", "interrupted", "diverged", "1 of 3 diverged"
  std::optional<LossAgreement> loss_agreement;
  std::optional<double> microseconds_per_sample;  // of training: `seconds` over the samples of an epoch
  std::optional<double> fit_seconds;              // of all epochs with their validation, the median of the runs
  std::optional<DeviceSpeed> device_speed;        // relative to the same work on fewer devices
  bool is_other_work = false;                     // than the baseline's, by its settings, so it has no ratio of times
  std::map<std::string, MetricSpread> final_metrics;
  // The epoch whose weights `predict` and `evaluate` use, for each run of the group, with its metrics. Both are empty
  // unless every run recorded such an epoch.
  std::vector<int64_t> best_epochs;
  std::map<std::string, MetricSpread> best_metrics;
  std::optional<TargetTime> target_time;
  std::optional<EpochCost> cost;
  std::vector<Baseline> baselines;      // of predictions without a model, on the validation part of the first run
  std::vector<std::string> paths;       // execution paths that were used
  std::vector<std::string> path_notes;  // why a faster path was not used

  RNNLAB_FIELDS(label, folders, seeds, ended, num_processes, num_timed_epochs, seconds, low_seconds, high_seconds,
                bounds_are_spread, ratio, ratio_low, ratio_high, is_paired, mann_whitney_p, verdict, loss_agreement,
                microseconds_per_sample, fit_seconds, devices, device_speed, exchange_share, slowest_over_fastest,
                is_other_work, final_metrics, best_epochs, best_metrics, where_given(target_time), where_given(cost),
                where_given(baselines), paths, path_notes, where_given(fold))
};

struct Comparison {
  int64_t schema_version = kFileVersion;
  std::string baseline;  // its label
  std::vector<GroupResult> groups;
  std::vector<std::string> forced;       // reasons to refuse that --force overrode; empty for a fair comparison
  std::vector<std::string> differences;  // reasons to refuse of runs that were started together
  std::vector<std::string> other_work;   // why groups have no ratio of times: the settings that make their work differ
  std::vector<Warning> warnings;         // reasons to doubt the times
  std::vector<std::string> notes;        // pooled runs, and differences that are only noted

  RNNLAB_FIELDS(schema_version, baseline, groups, forced, differences, other_work, warnings, notes)
};

// Returns how many groups did the work of the baseline, itself included: those whose times are compared.
inline int64_t num_of_same_work(const Comparison& comparison) {
  return std::ranges::count(comparison.groups, false, &GroupResult::is_other_work);
}

inline bool compares_times(const Comparison& comparison) {
  return std::ranges::any_of(comparison.groups, [](const GroupResult& group) { return group.ratio.has_value(); });
}

inline const GroupResult& baseline_of(const Comparison& comparison) {
  return *std::ranges::find(comparison.groups, comparison.baseline, &GroupResult::label);
}

// Returns the medians of the metrics in the last epochs, or in the best ones; none in the best epochs if they are not
// recorded.
MetricValues final_medians(const GroupResult& group);
MetricValues best_medians(const GroupResult& group);

// kReport: the user requested these runs together, so reasons against a fair comparison are reported, not refused.
enum class OnDifference { kRefuse, kForce, kReport };

struct CompareOptions {
  std::string baseline = {};  // a group's label or one of its folders; "": the first group in the order of the sweep
                              // (run_record.h) that is complete and has a time, if there is such a group
  OnDifference on_difference = OnDifference::kRefuse;
  std::optional<double> price_per_hour = std::nullopt;  // of the machine, in any currency (EpochCost)
};

// Groups whose settings make their work differ from the baseline's get no ratio of times, p or verdict, unless
// on_difference is kForce. Throws UserError kUsage if there are no runs, the baseline does not match any run, or the
// runs are not comparable for a different reason (all reasons in one message).
Comparison compare(const std::vector<RunRecord>& runs, const CompareOptions& options);

// Returns nothing unless all runs of the group had the same values in training.stop_at.
std::optional<TargetTime> target_time(const RunGroup& group);

// Returns nothing if no other group does the same work on fewer devices, or if one of both groups has no time.
std::optional<DeviceSpeed> device_speed(const RunGroup& group, const std::vector<RunGroup>& groups);

// Returns why a speed-up has no efficiency; "" if there is an efficiency, or no speed-up.
std::string efficiency_note(const RunGroup& group, const std::vector<RunGroup>& groups);

}  // namespace rnnlab
