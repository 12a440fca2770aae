// SPDX-License-Identifier: Apache-2.0
#include "results/process_times.h"

#include <algorithm>
#include <map>
#include <tuple>

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

bool have_interval(const std::vector<double>& of_processes) {
  return std::ssize(of_processes) >= kMinProcessesForInterval;
}

Estimate with_range(double value, const std::vector<double>& samples) {
  const auto [low, high] = std::ranges::minmax(samples);
  return {.value = value, .low = low, .high = high};
}

Estimate with_interval(const MeanEstimate& mean) {
  return {.value = mean.value, .low = mean.bounds.low, .high = mean.bounds.high};
}

TimeVerdict verdict_of(const Interval& ratio, const Tolerance& tolerance) {
  if (ratio.high < tolerance.equal.low) return TimeVerdict::kFaster;
  if (ratio.low > tolerance.equal.high) return TimeVerdict::kSlower;
  const bool are_alike = ratio.high <= tolerance.alike.high && ratio.low >= tolerance.alike.low;
  return are_alike ? TimeVerdict::kNoDifference : TimeVerdict::kUndecided;
}

bool are_times(const std::vector<double>& seconds) {
  return !seconds.empty() && std::ranges::all_of(seconds, [](double each) { return each > 0; });
}

}  // namespace

Estimate geometric_estimate(const std::vector<double>& of_processes) {
  return have_interval(of_processes) ? with_interval(geometric_mean_estimate(of_processes))
                                     : with_range(geometric_mean(of_processes), of_processes);
}

Estimate arithmetic_estimate(const std::vector<double>& of_processes) {
  const Estimate mean = with_interval(arithmetic_mean_estimate(of_processes));
  return have_interval(of_processes) ? mean : with_range(mean.value, of_processes);
}

GroupTime time_of(const RunGroup& group) {
  const std::vector<double> epochs = timed_seconds(group);
  const std::vector<double> processes = seconds_of(process_times(group));
  GroupTime time;
  time.num_processes = std::ssize(processes);
  time.num_timed_epochs = std::ssize(epochs);
  if (epochs.empty()) return time;
  time.bounds_are_spread = !have_interval(processes);
  const Estimate estimate =
      time.bounds_are_spread ? with_range(geometric_mean(processes), epochs) : geometric_estimate(processes);
  time.seconds = estimate.value;
  time.low_seconds = estimate.low;
  time.high_seconds = estimate.high;
  return time;
}

TimeRatio time_ratio(const RunGroup& group, const RunGroup& baseline) {
  const std::vector<ProcessTime> own = process_times(group), others = process_times(baseline);
  return time_ratio(seconds_of(own), seconds_of(others), {}, paired_by_round(own, others));
}

TimeRatio time_ratio(const std::vector<double>& seconds, const std::vector<double>& baseline,
                     const Tolerance& tolerance, const std::optional<PairedSeconds>& pairs) {
  TimeRatio result;
  result.verdict = TimeVerdict::kNone;
  if (!are_times(seconds) || !are_times(baseline)) return result;
  result.ratio = geometric_mean(seconds) / geometric_mean(baseline);
  const int64_t fewest = std::min(std::ssize(seconds), std::ssize(baseline));
  if (fewest < kMinProcessesForInterval) return result;
  const Interval bounds =
      (pairs ? paired_ratio(pairs->first, pairs->second) : unpaired_ratio(seconds, baseline)).bounds;
  result.ratio_low = bounds.low;
  result.ratio_high = bounds.high;
  result.is_paired = pairs.has_value();
  result.mann_whitney_p = mann_whitney(seconds, baseline).p_value;
  if (fewest >= kMinProcessesForVerdict) result.verdict = verdict_of(bounds, tolerance);
  return result;
}

Speed speed_of(const TimeRatio& times, double work) {
  const auto over = [&](const std::optional<double>& ratio) { return ratio ? std::optional(work / *ratio) : ratio; };
  return {.value = over(times.ratio), .low = over(times.ratio_high), .high = over(times.ratio_low)};
}

}  // namespace rnnlab
