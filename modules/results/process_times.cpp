// SPDX-License-Identifier: Apache-2.0
#include "results/process_times.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/statistics.h"

namespace rnnlab {
namespace {

using RoundKey = std::tuple<std::string, int64_t, std::vector<int64_t>>;
using SecondsByRound = std::map<RoundKey, double>;

// Splits the group's runs by process.
std::vector<RunGroup> by_process(const RunGroup& group) {
  std::vector<RunGroup> processes;
  std::map<std::string, size_t> index_of;
  for (const RunRecord* run : group.runs) {
    const auto [found, is_new] = index_of.emplace(run->summary.turn.process, processes.size());
    if (is_new) processes.emplace_back();
    processes[found->second].runs.push_back(run);
  }
  return processes;
}

// Returns nothing if a process does not belong to a round of a measurement, or if two processes have the same round and
// seeds.
std::optional<SecondsByRound> by_round(const std::vector<ProcessTime>& processes) {
  SecondsByRound found;
  for (const ProcessTime& process : processes) {
    if (process.measurement.empty() || process.round == 0) return std::nullopt;
    const bool is_new =
        found.emplace(RoundKey{process.measurement, process.round, process.seeds}, process.seconds).second;
    if (!is_new) return std::nullopt;
  }
  return found;
}

}  // namespace

std::vector<ProcessTime> process_times(const RunGroup& group) {
  std::vector<ProcessTime> times;
  for (const RunGroup& process : by_process(group)) {
    const std::vector<double> seconds = timed_seconds(process);
    const Turn& turn = process.runs[0]->summary.turn;
    if (!seconds.empty()) times.push_back({turn.measurement, turn.round, seeds(process), median(seconds)});
  }
  return times;
}

std::vector<double> seconds_of(const std::vector<ProcessTime>& processes) {
  std::vector<double> seconds;
  for (const ProcessTime& process : processes) seconds.push_back(process.seconds);
  return seconds;
}

std::optional<PairedSeconds> paired_by_round(const std::vector<ProcessTime>& first,
                                             const std::vector<ProcessTime>& second) {
  const auto of_first = by_round(first), of_second = by_round(second);
  if (!of_first || !of_second || of_first->size() != of_second->size()) return std::nullopt;
  PairedSeconds pairs;
  for (const auto& [round, seconds] : *of_first) {
    const auto partner = of_second->find(round);
    if (partner == of_second->end()) return std::nullopt;
    pairs.first.push_back(seconds);
    pairs.second.push_back(partner->second);
  }
  return pairs;
}

namespace {

TimeVerdict verdict_of(const Interval& ratio) {
  if (ratio.high < 1) return TimeVerdict::kFaster;
  if (ratio.low > 1) return TimeVerdict::kSlower;
  const bool is_narrow = ratio.high <= kNoDifferenceRatio && ratio.low >= 1 / kNoDifferenceRatio;
  return is_narrow ? TimeVerdict::kNoDifference : TimeVerdict::kUndecided;
}

Interval bounds_of(const std::vector<double>& processes, const std::vector<double>& epochs) {
  if (std::ssize(processes) >= kMinProcessesForInterval) return geometric_mean_estimate(processes).bounds;
  const auto [low, high] = std::ranges::minmax(epochs);
  return {low, high};
}

}  // namespace

GroupTime time_of(const RunGroup& group) {
  const std::vector<double> epochs = timed_seconds(group);
  const std::vector<double> processes = seconds_of(process_times(group));
  GroupTime time;
  time.num_processes = std::ssize(processes);
  time.num_timed_epochs = std::ssize(epochs);
  if (epochs.empty()) return time;
  const Interval bounds = bounds_of(processes, epochs);
  time.seconds = geometric_mean(processes);
  time.low_seconds = bounds.low;
  time.high_seconds = bounds.high;
  time.bounds_are_spread = time.num_processes < kMinProcessesForInterval;
  return time;
}

TimeRatio time_ratio(const RunGroup& group, const RunGroup& baseline) {
  TimeRatio result;
  result.verdict = TimeVerdict::kNone;
  const std::vector<ProcessTime> own = process_times(group), others = process_times(baseline);
  if (own.empty() || others.empty()) return result;
  const std::vector<double> seconds = seconds_of(own), baseline_seconds = seconds_of(others);
  result.ratio = geometric_mean(seconds) / geometric_mean(baseline_seconds);
  const int64_t fewest = std::min(std::ssize(seconds), std::ssize(baseline_seconds));
  if (fewest < kMinProcessesForInterval) return result;
  const auto pairs = paired_by_round(own, others);
  const Interval bounds =
      (pairs ? paired_ratio(pairs->first, pairs->second) : unpaired_ratio(seconds, baseline_seconds)).bounds;
  result.ratio_low = bounds.low;
  result.ratio_high = bounds.high;
  result.is_paired = pairs.has_value();
  result.mann_whitney_p = mann_whitney(seconds, baseline_seconds).p_value;
  if (fewest >= kMinProcessesForVerdict) result.verdict = verdict_of(bounds);
  return result;
}

}  // namespace rnnlab
