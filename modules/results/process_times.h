// SPDX-License-Identifier: Apache-2.0
// Compares the times of groups of runs. The sample has one number for each process: epochs of one process share
// properties of the process, such as the location of its memory, so they do not show how times vary between processes.
// docs/timing.md states how often the intervals contain the true value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/enum_names.h"
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

// `repeats: {until: ...}` ends when all intervals were narrow enough in this number of successive rounds.
inline constexpr int64_t kSuccessivePreciseRounds = 3;

// An interval of a ratio that contains 1 shows no difference only if both bounds are within this factor of 1.
inline constexpr double kNoDifferenceRatio = 1.1;

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

// Sets the verdict, and the ratio with its interval and p, if there are enough processes for each of them.
TimeRatio time_ratio(const RunGroup& group, const RunGroup& baseline);

}  // namespace rnnlab
