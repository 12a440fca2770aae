// The comparison of runs by their epoch times: runs of the same work with several seeds are pooled, every group is set
// against a baseline, and runs that did not do the same work are refused. What makes the numbers doubtful is kept with
// them. Intervals and verdicts are over the processes that trained the runs (process_times.h).
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
#include "results/devices.h"
#include "results/loss_agreement.h"
#include "results/run_record.h"
#include "system/file_version.h"
#include "system/warning.h"

namespace rnnlab {

// A final metric over the runs of a group.
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

// Of a side, before an interval is given; and of both, before a verdict.
inline constexpr int64_t kFewestForInterval = 3;
inline constexpr int64_t kFewestForVerdict = 5;

// Rounds in a row after which all intervals must be narrow enough before `repeats: {until: ...}` ends.
inline constexpr int64_t kPreciseInARow = 3;

// A ratio whose interval holds 1 shows no difference only if both bounds are this near to it.
inline constexpr double kLargestUnseenRatio = 1.1;

// Whether the interval of the ratio lies below 1, above it, or holds it. kUndecided: it holds 1 and also ratios that
// would matter, so more processes are needed. kNone: there are too few processes to say so.
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
  int64_t num_processes = 0;     // that have an epoch after warm-up
  int64_t num_timed_epochs = 0;  // after warm-up, all runs together
  // The geometric mean over the processes of each one's median of train_seconds. Absent when every epoch was warm-up.
  std::optional<double> seconds, low_seconds, high_seconds;
  bool bounds_are_spread = false;  // of fewer than three processes: smallest and largest epoch, no interval
  // Against the baseline, absent for the baseline itself. The ratio is this group's seconds over the baseline's: 0.5 is
  // twice as fast. It has an interval and a p from three processes a side on.
  std::optional<double> ratio, ratio_low, ratio_high;
  bool is_paired = false;  // the interval is over the rounds, in which both sides were measured
  std::optional<double> mann_whitney_p;
  std::optional<TimeVerdict> verdict;
  std::optional<LossAgreement> loss_agreement;
  std::optional<double> microseconds_per_sample;  // of training: `seconds` over the samples of an epoch
  std::optional<double> fit_seconds;              // of all epochs with their validation, the median of the runs
  int64_t devices = 1;                            // that trained a run together, a process each
  std::optional<DeviceSpeed> device_speed;        // against the same work on fewer
  std::optional<double> exchange_share;        // of an epoch, that was spent in the exchange and nothing hid (median)
  std::optional<double> slowest_over_fastest;  // process of an epoch (median)
  std::map<std::string, MetricSpread> final_metrics;
  std::vector<std::string> paths;       // what really ran
  std::vector<std::string> path_notes;  // why a faster one was not used

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
  std::vector<std::string> forced;       // why it should have been refused; empty for a fair comparison
  std::vector<std::string> differences;  // the same where nobody had to force it: of runs that were started together
  std::vector<Warning> warnings;         // what makes the times doubtful
  std::vector<std::string> notes;        // what was pooled, what else differs

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

// kTell: the user asked for these runs side by side, so what forbids a fair comparison is said, not refused.
enum class OnDifference { kRefuse, kForce, kTell };

struct CompareOptions {
  std::string baseline;  // a group's label or one of its folders; "": the first run's group, which is the sweep's first
                         // (run_record.h), or the first whose runs all ended as they should
  OnDifference on_difference = OnDifference::kRefuse;
};

// UserError kUsage when there are no runs, the baseline is not one of them, or they are not comparable (all reasons at
// once).
Comparison compare(const std::vector<RunRecord>& runs, const CompareOptions& options);

// How long a group's epochs take, and whether that is faster than the baseline's: over processes, not epochs.
// docs/timing.md says how often the intervals hold the truth.

// Fills in processes, epochs, seconds and their bounds. Without an epoch after warm-up there are none.
void measure_time(GroupResult& result, const RunGroup& group);

// Fills in the ratio to the baseline, its interval, p and the verdict, as far as there are processes enough.
void set_against(GroupResult& result, const RunGroup& group, const RunGroup& baseline);

}  // namespace rnnlab
