#include "report/headlines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "results/comparison_text.h"

namespace rnnlab::report {
namespace {

constexpr size_t kMostSentences = 8;

std::string range_text(const GroupResult& group) {
  return fmt::format("{} {} .. {}", group.ratio_interval_is_full_range ? "range" : "95 % interval",
                     significant_digits(group.ratio_low, 3), significant_digits(group.ratio_high, 3));
}

// "3.31 times as fast"; that of an interval on both sides of 1 is no finding.
std::string verdict(const GroupResult& group) {
  if (group.ratio_low == group.ratio_high) return "nothing shown, by one epoch a side";
  if (group.ratio_low <= 1 && group.ratio_high >= 1) return "no difference shown";
  if (group.ratio < 1) return fmt::format("{:.3g} times as fast", 1 / *group.ratio);
  return fmt::format("{:.3g} times as long", *group.ratio);
}

std::string sentence(const GroupResult& group, const Comparison& comparison) {
  return fmt::format("{}{}: {}; {} of the time of {} ({}).", not_comparable(comparison), group.label, verdict(group),
                     significant_digits(group.ratio, 3), comparison.baseline, range_text(group));
}

std::string time_sentence(const GroupResult& group) {
  if (!group.median_seconds) return group.label + ": no epoch after warm-up, so no time.";
  return fmt::format("{}: {} s an epoch ({} .. {}), the median of {}.", group.label,
                     significant_digits(group.median_seconds, 4), significant_digits(group.low_seconds, 4),
                     significant_digits(group.high_seconds, 4), counted(group.num_timed_epochs, "epoch"));
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
