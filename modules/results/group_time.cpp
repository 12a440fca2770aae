#include "results/group_time.h"

#include <algorithm>

#include "results/geometric_mean.h"
#include "results/process_times.h"

namespace rnnlab {
namespace {

TimeVerdict verdict_of(const Interval& ratio) {
  if (ratio.high < 1) return TimeVerdict::kFaster;
  return ratio.low > 1 ? TimeVerdict::kSlower : TimeVerdict::kNoDifference;
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
