// SPDX-License-Identifier: Apache-2.0
#include "results/time_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/statistics.h"
#include "results/process_times.h"

namespace rnnlab {
namespace {

constexpr double kNormalScale = 1.4826;  // makes the median absolute deviation of a normal sample its deviation

std::vector<double> logarithms(std::span<const double> seconds) {
  std::vector<double> logs;
  for (const double each : seconds) logs.push_back(std::log(each));
  return logs;
}

double range_of(std::span<const double> values) {
  const auto [least, most] = std::ranges::minmax(values);
  return most - least;
}

double scaled_deviation(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return kNormalScale * median(distances);
}

// Returns the number of rising pairs less the number of falling pairs.
int64_t kendall_score(const std::vector<double>& values) {
  int64_t score = 0;
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = i + 1; j < values.size(); ++j) score += (values[j] > values[i]) - (values[j] < values[i]);
  return score;
}

// Returns the distribution of the number of falling pairs over all orders of n different values. A new value at one of
// `size` places adds 0 to `size` - 1 falling pairs, each with the same probability.
std::vector<double> parts_by_inversions(size_t n) {
  std::vector<double> parts = {1};
  for (size_t size = 2; size <= n; ++size) {
    std::vector<double> next(parts.size() + size - 1, 0);
    double window = 0;
    for (size_t i = 0; i < next.size(); ++i) {
      if (i < parts.size()) window += parts[i];
      if (i >= size) window -= parts[i - size];
      next[i] = window / static_cast<double>(size);
    }
    parts = std::move(next);
  }
  return parts;
}

double exact_kendall_p(int64_t score, size_t n) {
  const std::vector<double> parts = parts_by_inversions(n);
  const auto num_pairs = static_cast<int64_t>(n * (n - 1) / 2);
  const auto most_falling = static_cast<size_t>((num_pairs - std::abs(score)) / 2);
  double tail = 0;
  for (size_t i = 0; i <= most_falling; ++i) tail += parts[i];
  return std::min(1.0, 2 * tail);
}

// Returns the two-sided p-value (Kendall, Rank Correlation Methods, 4th edition, 1970, chapter 5). Ties make the result
// larger than the true p-value.
double kendall_p(const std::vector<double>& values) {
  constexpr size_t kMostForExact = 50;
  const int64_t score = kendall_score(values);
  if (values.size() <= kMostForExact) return exact_kendall_p(score, values.size());
  const auto n = static_cast<double>(values.size());
  const double variance = n * (n - 1) * (2 * n + 5) / 18;
  return std::erfc(static_cast<double>(std::abs(score) - 1) / std::sqrt(2 * variance));
}

double theil_sen_slope(const std::vector<double>& values) {
  std::vector<double> slopes;
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = i + 1; j < values.size(); ++j)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  return median(slopes);
}

double noise_around(const std::vector<double>& values, double slope) {
  std::vector<double> rest;
  for (size_t i = 0; i < values.size(); ++i) rest.push_back(values[i] - slope * static_cast<double>(i));
  return scaled_deviation(rest);
}

}  // namespace

bool are_all_equal(std::span<const double> seconds) {
  constexpr size_t kFewest = 3;
  return seconds.size() >= kFewest && range_of(seconds) == 0;
}

bool is_first_cold(std::span<const double> seconds) {
  constexpr size_t kFewest = 4;
  constexpr double kLeastFactor = 1.75, kRanges = 3;
  if (seconds.size() < kFewest) return false;
  const std::vector<double> logs = logarithms(seconds);
  const std::vector<double> others(logs.begin() + 1, logs.end());
  if (logs[0] - median(others) < std::log(kLeastFactor)) return false;
  return logs[0] - std::ranges::max(others) > kRanges * range_of(others);
}

std::optional<size_t> find_outlier(std::span<const double> seconds) {
  constexpr size_t kFewest = 5;
  constexpr double kLeastFactor = 2, kDeviations = 15;
  if (seconds.size() < kFewest) return std::nullopt;
  const std::vector<double> logs = logarithms(seconds);
  const double middle = median(logs);
  const auto distance = [&](double value) { return std::abs(value - middle); };
  const auto furthest = std::ranges::max_element(logs, {}, distance);
  const double least = std::max(std::log(kLeastFactor), kDeviations * scaled_deviation(logs));
  if (distance(*furthest) <= least) return std::nullopt;
  return static_cast<size_t>(furthest - logs.begin());
}

std::optional<double> find_trend(std::span<const double> seconds) {
  constexpr size_t kFewest = 7;  // no order of fewer times is this improbable
  constexpr double kMostByChance = 0.001, kLeastChange = 0.05, kNoises = 5;
  if (seconds.size() < kFewest) return std::nullopt;
  const std::vector<double> logs = logarithms(seconds);
  if (kendall_p(logs) >= kMostByChance) return std::nullopt;
  const double slope = theil_sen_slope(logs);
  const double change = slope * static_cast<double>(logs.size() - 1);
  const double least = std::max(std::log1p(kLeastChange), kNoises * noise_around(logs, slope));
  if (std::abs(change) <= least) return std::nullopt;
  return std::exp(change);
}

std::optional<TwoModes> find_two_modes(std::span<const double> seconds) {
  constexpr std::ptrdiff_t kFewest = 3;
  constexpr double kLeastGap = 0.1, kRanges = 3;
  std::vector<double> logs = logarithms(seconds);
  std::ranges::sort(logs);
  for (std::ptrdiff_t count = kFewest; count + kFewest <= std::ssize(logs); ++count) {
    const std::vector<double> low(logs.begin(), logs.begin() + count), high(logs.begin() + count, logs.end());
    const double gap = high.front() - low.back();
    if (gap > std::max(std::log1p(kLeastGap), kRanges * std::max(range_of(low), range_of(high))))
      return TwoModes{low.size(), high.size(), std::exp(median(low)), std::exp(median(high))};
  }
  return std::nullopt;
}

namespace {

struct NamedTimes {
  const char *singular, *plural;  // "epoch", "epochs"
  bool are_measured = false;  // each time is one measurement of a clock, and the first time may be before warm-up ends
  std::vector<std::string> names = {};
  std::vector<double> seconds = {};

  void remove(size_t index) {
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(index));
    seconds.erase(seconds.begin() + static_cast<std::ptrdiff_t>(index));
  }
};

// Values that are zero, negative or infinite do not have a meaningful logarithm.
bool are_times(const NamedTimes& times) {
  return std::ranges::all_of(times.seconds, [](double each) { return std::isfinite(each) && each > 0; });
}

// Returns a text such as "+86 %" or "12.3 times as long".
std::string change_text(double factor) {
  constexpr double kPercent = 100, kLargest = 3;
  if (factor >= kLargest) return fmt::format("{:.3g} times as long", factor);
  return fmt::format("{:+.0f} %", kPercent * (factor - 1));
}

Warning equal_times(const NamedTimes& times) {
  return {
      warning::kEqualTimes,
      fmt::format(
          "{} {} took {:.6g} s each, equal to the last digit: no clock measures that, so check the source of the times",
          times.seconds.size(), times.plural, times.seconds[0])};
}

Warning cold_epoch(const NamedTimes& times) {
  const std::vector<double> others(times.seconds.begin() + 1, times.seconds.end());
  return {warning::kColdEpoch,
          fmt::format("epoch {} is not warm yet: it took {:.4g} s, the others {:.4g} s in the median; "
                      "set training.warmup_epochs={} to exclude it",
                      times.names[0], times.seconds[0], median(others), times.names[0])};
}

Warning outlier(const NamedTimes& times, size_t index) {
  const double middle = median(times.seconds);
  return {warning::kOutlier,
          fmt::format("{} {} is an outlier: it took {:.4g} s, {:.3g} times the median of {:.4g} s; check what else "
                      "ran, or measure again",
                      times.singular, times.names[index], times.seconds[index], times.seconds[index] / middle, middle)};
}

Warning two_modes(const NamedTimes& times, const TwoModes& modes) {
  return {warning::kTwoModes,
          fmt::format(
              "two kinds of {}: {} of {:.4g} s and {} of {:.4g} s, no time in between, so the median is that of one "
              "kind; check what changed, and measure again",
              times.plural, modes.num_short, modes.short_seconds, modes.num_long, modes.long_seconds)};
}

Warning trend(const NamedTimes& times, double factor) {
  return {warning::kTrend, fmt::format("the times drift: {} from {} {} to {}, so no median represents all; wait until "
                                       "the machine is stable, and measure again",
                                       change_text(factor), times.singular, times.names.front(), times.names.back())};
}

// A reported time is left out of the later checks, because a single such time can look like a trend or a second mode.
std::vector<Warning> warnings_about(NamedTimes times) {
  if (!are_times(times)) return {};
  if (times.are_measured && are_all_equal(times.seconds)) return {equal_times(times)};
  std::vector<Warning> found;
  if (times.are_measured && is_first_cold(times.seconds)) {
    found.push_back(cold_epoch(times));
    times.remove(0);
  }
  if (const auto index = find_outlier(times.seconds)) {
    found.push_back(outlier(times, *index));
    times.remove(*index);
  }
  if (const auto modes = find_two_modes(times.seconds)) {
    found.push_back(two_modes(times, *modes));
  } else if (const auto factor = find_trend(times.seconds)) {
    found.push_back(trend(times, *factor));
  }
  return found;
}

}  // namespace

std::vector<Warning> shape_warnings(std::span<const EpochRow> rows) {
  NamedTimes times{.singular = "epoch", .plural = "epochs", .are_measured = true};
  for (const EpochRow& row : rows) {
    if (row.warmup) continue;
    times.names.push_back(std::to_string(row.epoch));
    times.seconds.push_back(row.train_seconds);
  }
  return warnings_about(std::move(times));
}

std::vector<Warning> shape_warnings(const RunGroup& group) {
  NamedTimes times{.singular = "process", .plural = "processes", .are_measured = false};
  times.seconds = seconds_of(process_times(group));
  for (size_t i = 1; i <= times.seconds.size(); ++i) times.names.push_back(std::to_string(i));
  return warnings_about(std::move(times));
}

}  // namespace rnnlab
