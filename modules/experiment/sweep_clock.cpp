// SPDX-License-Identifier: Apache-2.0
#include "experiment/sweep_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/numbers.h"

namespace rnnlab {
namespace {

double sum_of(const std::vector<double>& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

double mean_of(const std::vector<double>& seconds) { return sum_of(seconds) / static_cast<double>(seconds.size()); }

std::string range_text(double low, double high) {
  constexpr double kClose = 1.25;
  if (high <= kClose * low) return fmt::format("about {} left", format_duration((low + high) / 2));
  return fmt::format("{} to {} left", format_duration(low), format_duration(high));
}

}  // namespace

void SweepClock::record(int64_t case_number, double seconds) { seconds_[case_number].push_back(seconds); }

std::string SweepClock::text(std::span<const int64_t> cases) const {
  std::vector<double> all;
  for (const auto& [_, seconds] : seconds_) all.insert(all.end(), seconds.begin(), seconds.end());
  if (all.empty()) return "";
  const auto [shortest, longest] = std::ranges::minmax(all);
  double low = 0, high = 0;
  bool is_all_known = true;
  for (const int64_t one : cases) {
    const auto found = seconds_.find(one);
    const bool is_known = found != seconds_.end();
    low += is_known ? mean_of(found->second) : shortest;
    high += is_known ? mean_of(found->second) : longest;
    is_all_known = is_all_known && is_known;
  }
  const bool is_guess = all.size() == 1 && !is_all_known;
  return fmt::format("{} so far, {}{}", format_duration(sum_of(all)), range_text(low, high),
                     is_guess ? " if each run takes as long as the first" : "");
}

}  // namespace rnnlab
