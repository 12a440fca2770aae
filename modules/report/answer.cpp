// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "report/sections.h"
#include "results/checks.h"
#include "results/comparison_output.h"
#include "results/run_folder.h"

namespace rnnlab::report {
namespace {

constexpr size_t kMostSentences = 8;

// Returns " (95 % interval 0.200 .. 0.300)"; "" if there are too few processes for an interval.
std::string interval_text(const GroupResult& group) {
  if (!group.ratio_low) return "";
  return fmt::format(" (95 % interval {} .. {})", significant_digits(group.ratio_low, 3),
                     significant_digits(group.ratio_high, 3));
}

const GroupResult& baseline_of(const Comparison& comparison) {
  return *std::ranges::find(comparison.groups, comparison.baseline, &GroupResult::label);
}

std::string why_no_verdict(const GroupResult& group, const Comparison& comparison) {
  return fmt::format("no verdict: it needs {} processes on each side and has {} and {}", kMinProcessesForVerdict,
                     group.num_processes, baseline_of(comparison).num_processes);
}

// "3.31 times as fast" appears only if the table has the verdict faster.
std::string verdict_text(const GroupResult& group, const Comparison& comparison) {
  switch (group.verdict.value_or(TimeVerdict::kNone)) {
    case TimeVerdict::kFaster:
      return fmt::format("{:.3g} times as fast", 1 / *group.ratio);
    case TimeVerdict::kSlower:
      return fmt::format("{:.3g} times as long", *group.ratio);
    case TimeVerdict::kNoDifference:
      return "no difference shown";
    case TimeVerdict::kUndecided:
      return "undecided";
    case TimeVerdict::kNone:
      return why_no_verdict(group, comparison);
  }
  RNNLAB_INVARIANT(false, "the headlines do not handle this verdict");
  return "";
}

std::string sentence(const GroupResult& group, const Comparison& comparison) {
  return fmt::format("{}{}: {}; {} of the time of {}{}.", not_comparable(comparison), group.label,
                     verdict_text(group, comparison), significant_digits(group.ratio, 3), comparison.baseline,
                     interval_text(group));
}

std::string time_sentence(const GroupResult& group) {
  if (!group.seconds) return group.label + ": no epoch after warm-up, so no time.";
  return fmt::format("{}: {} s an epoch ({} {} .. {}), by {} of {}.", group.label, significant_digits(group.seconds, 4),
                     group.bounds_are_spread ? "smallest and largest" : "95 % interval",
                     significant_digits(group.low_seconds, 4), significant_digits(group.high_seconds, 4),
                     counted(group.num_timed_epochs, "epoch"), counted(group.num_processes, "process"));
}

}  // namespace

std::string not_comparable(const Comparison& comparison) { return comparison.forced.empty() ? "" : "NOT COMPARABLE: "; }

std::vector<std::string> headlines(const Comparison& comparison) {
  std::vector<const GroupResult*> compared;
  std::vector<std::string> sentences;
  for (const GroupResult& group : comparison.groups) {
    if (group.ratio) compared.push_back(&group);
    if (group.label == comparison.baseline) sentences.push_back(time_sentence(group));
  }
  if (compared.size() > kMostSentences) {
    const auto [fastest, slowest] = std::ranges::minmax(compared, {}, [](const auto* group) { return *group->ratio; });
    sentences.push_back("The fastest of " + std::to_string(comparison.groups.size()) + ": " +
                        sentence(*fastest, comparison));
    sentences.push_back("The slowest: " + sentence(*slowest, comparison));
    return sentences;
  }
  for (const GroupResult* group : compared) sentences.push_back(sentence(*group, comparison));
  return sentences;
}

// ---- the answer ----

namespace {

// Returns " (95 % interval 3.10 to 3.80)"; "" without an interval.
std::string in_words(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? fmt::format(" (95 % interval {:.3g} to {:.3g})", *low, *high) : "";
}

std::string ratio_words(const GroupResult& group) { return in_words(group.ratio_low, group.ratio_high); }

// Returns the interval of how many times as fast the group is.
std::string speed_words(const GroupResult& group) {
  if (!group.ratio_low || !group.ratio_high) return "";
  return in_words(1 / *group.ratio_high, 1 / *group.ratio_low);
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

std::string answer_without_gain(const GroupResult& group, const Comparison& comparison) {
  const std::string part = fmt::format("the time of {}{}", comparison.baseline, ratio_words(group));
  switch (group.verdict.value_or(TimeVerdict::kNone)) {
    case TimeVerdict::kFaster:
    case TimeVerdict::kSlower:
      return fmt::format("{} takes {:.3g} times as long as {}{}.", group.label, *group.ratio, comparison.baseline,
                         ratio_words(group));
    case TimeVerdict::kNoDifference:
      return fmt::format("No difference is shown: {} takes {:.3g} of {}.", group.label, *group.ratio, part);
    case TimeVerdict::kUndecided:
      return fmt::format("Undecided: {} takes {:.3g} of {}.", group.label, *group.ratio, part);
    case TimeVerdict::kNone:
      return fmt::format("No verdict yet: {} takes {:.3g} of {}; a verdict needs {} processes on each side.",
                         group.label, *group.ratio, part, kMinProcessesForVerdict);
  }
  RNNLAB_INVARIANT(false, "the answer does not handle this verdict");
  return "";
}

// Returns the medians of a group's metrics in its best epochs, or else in its last ones.
MetricValues medians_of(const GroupResult& group) {
  MetricValues medians;
  for (const auto& [name, spread] : group.best_metrics.empty() ? group.final_metrics : group.best_metrics)
    medians[name] = spread.median;
  return medians;
}

// Returns which group is the best by the metric of the baseline's task; "" if fewer than two groups have the metric.
std::string answer_of_quality(const Comparison& comparison) {
  const std::string metric = own_metric(medians_of(baseline_of(comparison)));
  std::vector<std::pair<double, const GroupResult*>> values;
  for (const GroupResult& group : comparison.groups)
    if (const MetricValues medians = medians_of(group); medians.contains(metric) && std::isfinite(medians.at(metric)))
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

std::string sentence_of(const Comparison& comparison) {
  const GroupResult* any = fastest(comparison, std::nullopt);
  if (any == nullptr) {
    const std::string quality = comparison.other_work.empty() ? "" : answer_of_quality(comparison);
    return quality.empty() ? answer_of_one(baseline_of(comparison)) : quality;
  }
  const GroupResult* faster = fastest(comparison, TimeVerdict::kFaster);
  if (faster == nullptr) return answer_without_gain(*any, comparison);
  const int64_t num_compared = num_of_same_work(comparison);
  const std::string rank = num_compared > 2 ? fmt::format(", the fastest of {}", num_compared) : "";
  return fmt::format("{} is {:.3g} times as fast as {}{}{}.", faster->label, 1 / *faster->ratio, comparison.baseline,
                     speed_words(*faster), rank);
}

// Returns "a", "a and b", or "3 machines".
std::string few_or_count(const std::vector<std::string>& values, const char* what) {
  constexpr size_t kMostNamed = 2;
  return values.size() <= kMostNamed ? join_with_and(values) : fmt::format("{} {}", values.size(), what);
}

std::string machine_of(const RunRecord& run) {
  const Environment& environment = run.environment;
  std::vector<std::string> parts;
  if (is_on_gpu(run))
    for (const GpuInfo& gpu : environment.nvidia.gpus) add_once(parts, gpu.name);
  add_once(parts, environment.cpu.model);
  parts.push_back(counted(environment.num_threads, "thread"));
  return join(parts, ", ");
}

// Returns "pets.csv" for "\"data/pets.csv\""; "" for a list of files.
std::string file_name_of(const std::string& setting) {
  if (setting.starts_with('[')) return "";
  const bool is_quoted = setting.size() > 1 && setting.front() == '"' && setting.back() == '"';
  return last_name(is_quoted ? setting.substr(1, setting.size() - 2) : setting);
}

// Returns "pets.csv, 4000 training samples"; "" if the run records neither.
std::string data_of(const RunRecord& run) {
  std::vector<std::string> parts;
  const auto source = run.config.find("data.source");
  const auto path = run.config.find("data.path");
  const std::string file = path == run.config.end() ? "" : file_name_of(path->second);
  if (!file.empty())
    parts.push_back(file);
  else if (source != run.config.end())
    parts.push_back(source->second);
  const auto counts = [](const EpochRow& row) { return !row.warmup && std::isfinite(num_samples(row)); };
  const auto row = std::ranges::find_if(run.rows, counts);
  if (row != run.rows.end()) parts.push_back(fmt::format("{:.0f} training samples", num_samples(*row)));
  return join(parts, ", ");
}

}  // namespace

std::string conditions_of(const std::vector<RunRecord>& runs) {
  std::vector<std::string> machines, data;
  std::set<std::string> days;
  constexpr size_t kDay = 10;  // characters of "2026-11-21"
  for (const RunRecord& run : runs) {
    add_once(machines, machine_of(run));
    if (const std::string known = data_of(run); !known.empty()) add_once(data, known);
    days.insert(run.environment.start_time.substr(0, kDay));
  }
  const std::string last_day = days.size() > 1 ? " to " + *days.rbegin() : "";
  const std::string of_data = data.empty() ? "" : "; data: " + few_or_count(data, "kinds of data");
  return fmt::format("{}; {}{}{}", few_or_count(machines, "machines"), *days.begin(), last_day, of_data);
}

Answer answer_of(const std::vector<RunRecord>& runs, const Comparison& comparison) {
  return {not_comparable(comparison) + sentence_of(comparison), conditions_of(runs)};
}

}  // namespace rnnlab::report
