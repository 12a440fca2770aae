// SPDX-License-Identifier: Apache-2.0
// The order of times, and the steps between them (times.h).
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/numbers.h"
#include "data/readers/rows.h"
#include "data/readers/time_units.h"
#include "data/readers/times.h"

namespace rnnlab {

std::vector<int64_t> places_in_order(std::span<const int64_t> times) {
  std::vector<int64_t> places = first_rows(std::ssize(times));
  std::ranges::stable_sort(places, {}, [&](int64_t place) { return times[static_cast<size_t>(place)]; });
  return places;
}

namespace {

std::vector<int64_t> working_times(std::span<const int64_t> times) {
  std::vector<int64_t> result(times.begin(), times.end());
  constexpr int64_t kWeek = 7 * kDay;
  const bool is_long = !times.empty() && std::abs(times.back() - times.front()) >= kWeek;
  if (!is_long || std::ranges::any_of(times, is_at_weekend)) return result;
  std::ranges::transform(result, result.begin(), without_weekends);
  return result;
}

int64_t median_step(std::span<const int64_t> times) {
  std::vector<int64_t> steps;
  for (size_t i = 1; i < times.size(); ++i)
    if (times[i] != times[i - 1]) steps.push_back(std::abs(times[i] - times[i - 1]));
  if (steps.empty()) return 0;
  const auto middle = steps.begin() + (std::ssize(steps) - 1) / 2;
  std::ranges::nth_element(steps, middle);
  return *middle;
}

}  // namespace

Irregular irregular_steps(std::span<const int64_t> times) {
  Irregular found{std::vector<bool>(times.size()), std::vector<bool>(times.size()), 0};
  std::vector<int64_t> working = working_times(times);
  found.usual_step = median_step(working);
  constexpr int64_t kThreeDays = 3 * kDay;
  if (found.usual_step > kThreeDays) {  // Weeks and months are steps over weekends.
    working.assign(times.begin(), times.end());
    found.usual_step = median_step(working);
  }
  for (size_t i = 1; i < working.size(); ++i) {
    const int64_t step = std::abs(working[i] - working[i - 1]);
    found.is_long[i] = step > found.usual_step + found.usual_step / 2;
    found.is_short[i] = step > 0 && step < found.usual_step - found.usual_step / 2;
  }
  return found;
}

TimeSteps examine_times(std::span<const int64_t> times) {
  TimeSteps steps;
  for (size_t i = 1; i < times.size(); ++i) {
    if (times[i] >= times[i - 1]) continue;
    ++steps.num_backwards;
    if (!steps.first_backwards) steps.first_backwards = static_cast<int64_t>(i);
  }
  const std::vector<int64_t> places = places_in_order(times);
  const std::vector<int64_t> sorted = at_rows(std::vector(times.begin(), times.end()), places);
  const Irregular irregular = irregular_steps(sorted);
  steps.usual_step = irregular.usual_step;
  for (size_t i = 1; i < sorted.size(); ++i) {
    const bool is_repeated = sorted[i] == sorted[i - 1];
    steps.num_repeated += is_repeated;
    steps.num_steps += !is_repeated;
    steps.num_gaps += irregular.is_long[i];
    steps.num_short += irregular.is_short[i];
    if (is_repeated && !steps.first_repeated) steps.first_repeated = places[i];
    if (irregular.is_long[i] && !steps.first_gap) steps.first_gap = places[i];
    if (irregular.is_short[i] && !steps.first_short) steps.first_short = places[i];
  }
  steps.is_newest_first = steps.num_backwards > 0 && steps.num_backwards == steps.num_steps;
  return steps;
}

std::string duration_text(int64_t microseconds) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr double kMonth = 30.436875 * kDay;
  constexpr Unit kUnits[] = {{12 * kMonth, "year"}, {kMonth, "month"},   {kDay, "day"},
                             {kHour, "hour"},       {kMinute, "minute"}, {kSecond, "second"}};
  const auto span = static_cast<double>(microseconds);
  for (const auto& [size, name] : kUnits) {
    const double count = span / size;
    constexpr double kAlmostOne = 0.9, kFew = 10;
    if (count < kAlmostOne) continue;
    const double rounded = size >= kMonth ? std::round(count) : count;
    if (std::abs(rounded - std::round(rounded)) < 1e-9 || rounded >= kFew) return counted(std::llround(rounded), name);
    return format_significant(rounded, 2) + " " + name + "s";
  }
  return format_significant(span / double{kSecond}, 2) + " seconds";
}

}  // namespace rnnlab
