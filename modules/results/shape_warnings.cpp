#include "results/shape_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "results/process_times.h"
#include "results/statistics.h"
#include "results/time_shape.h"

namespace rnnlab {
namespace {

struct NamedTimes {
  const char *singular, *plural;  // "epoch", "epochs"
  bool are_measured = false;      // each by one reading of a clock, the first perhaps before all is warm
  std::vector<std::string> names = {};
  std::vector<double> seconds = {};

  void take_out(size_t index) {
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(index));
    seconds.erase(seconds.begin() + static_cast<std::ptrdiff_t>(index));
  }
};

// The logarithm of anything else tells nothing.
bool are_times(const NamedTimes& times) {
  return std::ranges::all_of(times.seconds, [](double each) { return std::isfinite(each) && each > 0; });
}

// "+86 %", "12.3 times as long".
std::string change_text(double factor) {
  constexpr double kPercent = 100, kLargest = 3;
  if (factor >= kLargest) return fmt::format("{:.3g} times as long", factor);
  return fmt::format("{:+.0f} %", kPercent * (factor - 1));
}

Warning equal_times(const NamedTimes& times) {
  return {warning::kEqualTimes,
          fmt::format("{} {} took {:.6g} s each, equal to the last digit: no clock measures that, so look where the "
                      "times come from",
                      times.seconds.size(), times.plural, times.seconds[0])};
}

Warning cold_epoch(const NamedTimes& times) {
  const std::vector<double> others(times.seconds.begin() + 1, times.seconds.end());
  return {warning::kColdEpoch,
          fmt::format("epoch {} is not warm yet: it took {:.4g} s, the others {:.4g} s in the median; "
                      "training.warmup_epochs={} leaves it out",
                      times.names[0], times.seconds[0], median(others), times.names[0])};
}

Warning outlier(const NamedTimes& times, size_t index) {
  const double middle = median(times.seconds);
  return {warning::kOutlier,
          fmt::format("{} {} is an outlier: it took {:.4g} s, {:.3g} times the median of {:.4g} s; look what else ran, "
                      "or measure again",
                      times.singular, times.names[index], times.seconds[index], times.seconds[index] / middle, middle)};
}

Warning two_modes(const NamedTimes& times, const TwoModes& modes) {
  return {warning::kTwoModes,
          fmt::format("two kinds of {}: {} of {:.4g} s and {} of {:.4g} s, none between, so the median is that of one "
                      "kind; look what changed, and measure again",
                      times.plural, modes.num_short, modes.short_seconds, modes.num_long, modes.long_seconds)};
}

Warning trend(const NamedTimes& times, double factor) {
  return {warning::kTrend,
          fmt::format("the times drift: {} from {} {} to {}, so no median stands for all; let the machine settle, and "
                      "measure again",
                      change_text(factor), times.singular, times.names.front(), times.names.back())};
}

// What is told of is left out of the rest, which a trend or a second kind would else be made of.
std::vector<Warning> told_of(NamedTimes times) {
  if (!are_times(times)) return {};
  if (times.are_measured && are_all_equal(times.seconds)) return {equal_times(times)};
  std::vector<Warning> found;
  if (times.are_measured && is_first_cold(times.seconds)) {
    found.push_back(cold_epoch(times));
    times.take_out(0);
  }
  if (const auto index = find_outlier(times.seconds)) {
    found.push_back(outlier(times, *index));
    times.take_out(*index);
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
  return told_of(std::move(times));
}

std::vector<Warning> shape_warnings(const RunGroup& group) {
  NamedTimes times{.singular = "process", .plural = "processes", .are_measured = false};
  times.seconds = seconds_of(process_times(group));
  for (size_t i = 1; i <= times.seconds.size(); ++i) times.names.push_back(std::to_string(i));
  return told_of(std::move(times));
}

}  // namespace rnnlab
