// SPDX-License-Identifier: Apache-2.0
// Compares times, of groups of runs and of rows of a benchmark. The sample has one number for each process: epochs of
// one process share properties of the process, such as the location of its memory, so they do not show how times vary
// between processes. docs/timing.md states how often the intervals contain the true value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/enum_names.h"
#include "base/fields.h"
#include "base/statistics.h"
#include "results/run_record.h"

namespace rnnlab {

struct ProcessTime {
  std::string measurement;     // "" if the process does not belong to a measurement
  int64_t round = 0;           // of the measurement
  std::vector<int64_t> seeds;  // seeds of the process's runs in the group
  double seconds = 0;          // the median of these runs' epochs after warm-up
};

// Returns the processes in the order of their first runs, without processes that have no epoch after warm-up. Runs
// before version 3, which did not record the process, count as one process, because nothing shows that there were
// several.
std::vector<ProcessTime> process_times(const RunGroup& group);

std::vector<double> seconds_of(const std::vector<ProcessTime>& processes);

// The i-th values of both sides were measured in one round, with the same seeds.
struct PairedSeconds {
  std::vector<double> first, second;
};

// Returns nothing unless every process of both sides has a partner.
std::optional<PairedSeconds> paired_by_round(const std::vector<ProcessTime>& first,
                                             const std::vector<ProcessTime>& second);

// An interval requires kMinProcessesForInterval processes on a side; a verdict requires kMinProcessesForVerdict on both
// sides.
inline constexpr int64_t kMinProcessesForInterval = 3;
inline constexpr int64_t kMinProcessesForVerdict = 5;

// A number over processes with its 95 % interval, or with the range of its samples if there are too few processes.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;

  RNNLAB_FIELDS(value, low, high)
};

// Return the mean of the numbers of at least two processes: the geometric mean of numbers above 0, or the arithmetic
// mean of numbers of any sign, such as differences.
Estimate geometric_estimate(const std::vector<double>& of_processes);
Estimate arithmetic_estimate(const std::vector<double>& of_processes);

// `repeats: {until: ...}` ends when all intervals were narrow enough in this number of successive rounds.
inline constexpr int64_t kSuccessivePreciseRounds = 3;

// An interval of a ratio that contains 1 shows no difference only if both bounds are within this factor of 1.
inline constexpr double kNoDifferenceRatio = 1.1;

// What an interval of a ratio shows: a difference if it lies outside of `equal` as a whole, and no difference if it
// lies within `alike`.
struct Tolerance {
  Interval equal = {1, 1};
  Interval alike = {1 / kNoDifferenceRatio, kNoDifferenceRatio};
};

// kFaster: the interval of the ratio is below the tolerance; kSlower: above it. kUndecided: the interval contains equal
// times and also ratios that matter, so more processes are needed. kNone: there are too few processes for a verdict.
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

struct GroupTime {
  int64_t num_processes = 0;     // processes that have an epoch after warm-up
  int64_t num_timed_epochs = 0;  // after warm-up, all runs together
  // `seconds` is the geometric mean over the processes of each process's median of train_seconds. It is absent when
  // every epoch was warm-up.
  std::optional<double> seconds, low_seconds, high_seconds;
  bool bounds_are_spread = false;  // fewer than three processes: the smallest and the largest epoch, not an interval
};

GroupTime time_of(const RunGroup& group);

// The seconds of a group over those of a baseline: 0.5 is twice as fast. The ratio has an interval and a p if each side
// has three processes or more.
struct TimeRatio {
  std::optional<double> ratio, ratio_low, ratio_high;
  bool is_paired = false;  // the interval is over the rounds, in which both sides were measured
  std::optional<double> mann_whitney_p;
  std::optional<TimeVerdict> verdict;
};

// Return the verdict, and the ratio with its interval and p, if there are enough processes for each of them. Both sides
// have a number for each process. There is no ratio of sides without numbers, or with one that is not above 0.
TimeRatio time_ratio(const RunGroup& group, const RunGroup& baseline);
TimeRatio time_ratio(const std::vector<double>& seconds, const std::vector<double>& baseline,
                     const Tolerance& tolerance = {}, const std::optional<PairedSeconds>& pairs = std::nullopt);

// How many times as fast the group of a ratio is, with the bounds of the ratio, for `work` times the baseline's work.
struct Speed {
  std::optional<double> value, low, high;
};
Speed speed_of(const TimeRatio& times, double work = 1);

}  // namespace rnnlab
