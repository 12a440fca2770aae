// SPDX-License-Identifier: Apache-2.0
// The answer of a comparison in one sentence, for `compare` and for reports.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "results/comparison_output.h"

namespace rnnlab {

std::string interval_in_words(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? fmt::format(" (95 % interval {:.3g} to {:.3g})", *low, *high) : "";
}

namespace {

std::string ratio_words(const GroupResult& group) { return interval_in_words(group.ratio_low, group.ratio_high); }

// Returns the interval of how many times as fast the group is.
std::string speed_words(const GroupResult& group) {
  const Speed speed = speed_of(group);
  return interval_in_words(speed.low, speed.high);
}

// Returns the group with the smallest ratio among those with the verdict, or among all without one; null if there is
// none.
const GroupResult* fastest(const Comparison& comparison, const std::optional<TimeVerdict>& verdict) {
  const GroupResult* found = nullptr;
  for (const GroupResult& group : comparison.groups) {
    if (!group.ratio || (verdict && group.verdict != verdict)) continue;
    if (found == nullptr || *group.ratio < *found->ratio) found = &group;
  }
  return found;
}

std::string answer_of_one(const GroupResult& group) {
  if (!group.seconds) return group.label + " has no epoch after warm-up, so it has no time.";
  const std::string bounds = group.bounds_are_spread ? "smallest and largest" : "95 % interval";
  return fmt::format("An epoch of {} takes {} s ({} {} to {}).", group.label, significant_digits(group.seconds, 4),
                     bounds, significant_digits(group.low_seconds, 4), significant_digits(group.high_seconds, 4));
}

// `rank` follows the claim that the group is faster.
std::string ratio_sentence(const GroupResult& group, const Comparison& comparison, const std::string& rank) {
  const std::string& baseline = comparison.baseline;
  const std::string part =
      fmt::format("{} takes {:.3g} of the time of {}{}", group.label, *group.ratio, baseline, ratio_words(group));
  switch (group.verdict.value_or(TimeVerdict::kNone)) {
    case TimeVerdict::kFaster:
      return fmt::format("{} is {:.3g} times as fast as {}{}{}.", group.label, 1 / *group.ratio, baseline,
                         speed_words(group), rank);
    case TimeVerdict::kSlower:
      return fmt::format("{} takes {:.3g} times as long as {}{}.", group.label, *group.ratio, baseline,
                         ratio_words(group));
    case TimeVerdict::kNoDifference:
      return fmt::format("No difference is shown: {}.", part);
    case TimeVerdict::kUndecided:
      return fmt::format("Undecided: {}.", part);
    case TimeVerdict::kNone:
      return fmt::format("No verdict yet: {}; a verdict needs {} processes on each side.", part,
                         kMinProcessesForVerdict);
  }
  RNNLAB_INVARIANT(false, "the answer does not handle this verdict");
  return "";
}

// Returns which group is the best by the metric of the baseline's task; "" if fewer than two groups have the metric.
// Values of another fold are of other data.
std::string answer_of_quality(const Comparison& comparison) {
  const auto medians_of = [](const GroupResult& group) {
    return group.best_metrics.empty() ? final_medians(group) : best_medians(group);
  };
  const std::string metric = own_metric(medians_of(baseline_of(comparison)));
  std::vector<std::pair<double, const GroupResult*>> values;
  for (const GroupResult& group : comparison.groups)
    if (const MetricValues medians = medians_of(group);
        group.fold == baseline_of(comparison).fold && medians.contains(metric) && std::isfinite(medians.at(metric)))
      values.emplace_back(medians.at(metric), &group);
  if (values.size() < 2) return "";
  std::ranges::stable_sort(values, [&](const auto& a, const auto& b) { return is_better(metric, a.first, b.first); });
  const auto& [best, first] = values[0];
  const auto& [next, second] = values[1];
  const std::string what = best == next ? fmt::format("{} and {} have the best {}, {:.4g}", first->label, second->label,
                                                      heading_of(metric), best)
                                        : fmt::format("{} has the best {}, {:.4g}, and {} the next, {:.4g}",
                                                      first->label, heading_of(metric), best, second->label, next);
  return what + "; their work differs, so there is no ratio of times.";
}

}  // namespace

std::string group_sentence(const GroupResult& group, const Comparison& comparison) {
  return group.ratio ? ratio_sentence(group, comparison, "") : answer_of_one(group);
}

std::string answer_sentence(const Comparison& comparison) {
  const GroupResult* any = fastest(comparison, std::nullopt);
  if (any == nullptr) {
    const std::string quality = comparison.other_work.empty() ? "" : answer_of_quality(comparison);
    return quality.empty() ? answer_of_one(baseline_of(comparison)) : quality;
  }
  const GroupResult* faster = fastest(comparison, TimeVerdict::kFaster);
  const int64_t num_compared = num_of_same_work(comparison);
  const std::string rank = num_compared > 2 ? fmt::format(", the fastest of {}", num_compared) : "";
  return ratio_sentence(faster == nullptr ? *any : *faster, comparison, rank);
}

}  // namespace rnnlab
