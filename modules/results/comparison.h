// Compares runs by their epoch times. Runs of the same work with several seeds are pooled, every group is compared to a
// baseline, and runs of different work are refused. The result contains the reasons to doubt its numbers. Intervals and
// verdicts are over the processes that trained the runs (process_times.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/enum_names.h"
#include "results/checks.h"
#include "results/devices.h"
#include "results/run_record.h"
#include "system/file_version.h"
#include "system/warning.h"

namespace rnnlab {

// Describes a final metric over the runs of a group: median, smallest and largest value; all are NaN if one run has
// NaN.
struct MetricSpread {
  double median = 0;
  double low = 0;
  double high = 0;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("median", self.median);
    field("low", self.low);
    field("high", self.high);
  }
};

// An interval requires kFewestForInterval processes on a side; a verdict requires kFewestForVerdict on both sides.
inline constexpr int64_t kFewestForInterval = 3;
inline constexpr int64_t kFewestForVerdict = 5;

// `repeats: {until: ...}` ends when all intervals were narrow enough in this number of successive rounds.
inline constexpr int64_t kPreciseInARow = 3;

// An interval of a ratio that contains 1 shows no difference only if both bounds are within this factor of 1.
inline constexpr double kLargestUnseenRatio = 1.1;

// States whether the interval of the ratio is below 1, above 1, or contains 1. kUndecided: the interval contains 1 and
// also ratios that matter, so more processes are needed. kNone: there are too few processes for a verdict.
enum class TimeVerdict { kFaster, kSlower, kNoDifference, kUndecided, kNone };

template <>
struct config::EnumNames<TimeVerdict> {
  static constexpr std::array<std::pair<TimeVerdict, std::string_view>, 5> kNames = {
      {{TimeVerdict::kFaster, "faster"},
       {TimeVerdict::kSlower, "slower"},
       {TimeVerdict::kNoDifference, "no_difference"},
       {TimeVerdict::kUndecided, "undecided"},
       {TimeVerdict::kNone, "none"}}};
};

struct GroupResult {
  std::string label;
  std::vector<std::string> folders;
  std::vector<int64_t> seeds;
  std::string ended;             // "complete", "interrupted", "diverged", "1 of 3 diverged"
  int64_t num_processes = 0;     // processes that have an epoch after warm-up
  int64_t num_timed_epochs = 0;  // after warm-up, all runs together
  // `seconds` is the geometric mean over the processes of each process's median of train_seconds. It is absent when
  // every epoch was warm-up.
  std::optional<double> seconds, low_seconds, high_seconds;
  bool bounds_are_spread = false;  // fewer than three processes: the smallest and the largest epoch, not an interval
  // These fields compare the group to the baseline and are absent for the baseline itself. The ratio is this group's
  // seconds over the baseline's: 0.5 is twice as fast. It has an interval and a p if each side has three processes or
  // more.
  std::optional<double> ratio, ratio_low, ratio_high;
  bool is_paired = false;  // the interval is over the rounds, in which both sides were measured
  std::optional<double> mann_whitney_p;
  std::optional<TimeVerdict> verdict;
  std::optional<LossAgreement> loss_agreement;
  std::optional<double> microseconds_per_sample;  // of training: `seconds` over the samples of an epoch
  std::optional<double> fit_seconds;              // of all epochs with their validation, the median of the runs
  int64_t devices = 1;                            // number of devices that trained a run together, one process each
  std::optional<DeviceSpeed> device_speed;        // relative to the same work on fewer devices
  std::optional<double> exchange_share;  // part of an epoch in the exchange without overlap with other work (median)
  std::optional<double> slowest_over_fastest;  // slowest process of an epoch over the fastest (median)
  std::map<std::string, MetricSpread> final_metrics;
  std::vector<std::string> paths;       // execution paths that were used
  std::vector<std::string> path_notes;  // why a faster path was not used

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("label", self.label);
    field("folders", self.folders);
    field("seeds", self.seeds);
    field("ended", self.ended);
    field("num_processes", self.num_processes);
    field("num_timed_epochs", self.num_timed_epochs);
    field("seconds", self.seconds);
    field("low_seconds", self.low_seconds);
    field("high_seconds", self.high_seconds);
    field("bounds_are_spread", self.bounds_are_spread);
    field("ratio", self.ratio);
    field("ratio_low", self.ratio_low);
    field("ratio_high", self.ratio_high);
    field("is_paired", self.is_paired);
    field("mann_whitney_p", self.mann_whitney_p);
    field("verdict", self.verdict);
    field("loss_agreement", self.loss_agreement);
    field("microseconds_per_sample", self.microseconds_per_sample);
    field("fit_seconds", self.fit_seconds);
    field("devices", self.devices);
    field("device_speed", self.device_speed);
    field("exchange_share", self.exchange_share);
    field("slowest_over_fastest", self.slowest_over_fastest);
    field("final_metrics", self.final_metrics);
    field("paths", self.paths);
    field("path_notes", self.path_notes);
  }
};

struct Comparison {
  int64_t schema_version = kFileVersion;
  std::string baseline;  // its label
  std::vector<GroupResult> groups;
  std::vector<std::string> forced;       // reasons to refuse that --force overrode; empty for a fair comparison
  std::vector<std::string> differences;  // reasons to refuse of runs that were started together
  std::vector<Warning> warnings;         // reasons to doubt the times
  std::vector<std::string> notes;        // pooled runs, and differences that are only noted

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("schema_version", self.schema_version);
    field("baseline", self.baseline);
    field("groups", self.groups);
    field("forced", self.forced);
    field("differences", self.differences);
    field("warnings", self.warnings);
    field("notes", self.notes);
  }
};

// kTell: the user requested these runs together, so reasons against a fair comparison are reported, not refused.
enum class OnDifference { kRefuse, kForce, kTell };

struct CompareOptions {
  std::string baseline;  // a group's label or one of its folders; "": the first group in the order of the sweep
                         // (run_record.h) that is complete and has a time, if there is such a group
  OnDifference on_difference = OnDifference::kRefuse;
};

// Throws UserError kUsage if there are no runs, the baseline does not match any run, or the runs are not comparable
// (all reasons in one message).
Comparison compare(const std::vector<RunRecord>& runs, const CompareOptions& options);

// Times of groups and their ratios are over processes, not epochs. docs/timing.md states how often the intervals
// contain the true value.

// Sets processes, epochs, seconds and bounds of `result`. Seconds and bounds stay absent without an epoch after
// warm-up.
void measure_time(GroupResult& result, const RunGroup& group);

// Sets the ratio to the baseline, its interval, p and the verdict, if there are enough processes for each of them.
void set_against(GroupResult& result, const RunGroup& group, const RunGroup& baseline);

}  // namespace rnnlab
