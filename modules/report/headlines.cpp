#include "report/headlines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "results/comparison_text.h"

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
  return fmt::format("no verdict: it needs {} processes on each side and has {} and {}", kFewestForVerdict,
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
  RNNLAB_INVARIANT(false, "a verdict that headlines do not know");
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

}  // namespace rnnlab::report
