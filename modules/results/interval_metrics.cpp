// SPDX-License-Identifier: Apache-2.0
// The metrics of forecast quantiles, over all known targets of a part. The interval is from the lowest to the highest
// quantile.
#include <cmath>
#include <vector>

#include "base/config/schema.h"
#include "results/metrics.h"

namespace rnnlab {
namespace {

// Returns the mean of of_target(target, its quantiles) over the targets that are known.
template <class OfTarget>
MetricResult mean_over_targets(const PartScores& part, OfTarget of_target) {
  if (part.levels.empty()) return MetricResult::undefined("the model forecasts values without a distribution");
  double sum = 0, count = 0;
  for (size_t i = 0; i < part.targets.size(); ++i) {
    if (std::isnan(part.targets[i])) continue;
    sum += of_target(part.targets[i], part.quantiles.subspan(i * part.levels.size(), part.levels.size()));
    ++count;
  }
  return {sum / count};
}

MetricResult coverage(const PartScores& part) {
  return mean_over_targets(part, [](double target, std::span<const double> quantiles) {
    return quantiles.front() <= target && target <= quantiles.back() ? 1.0 : 0.0;
  });
}

MetricResult width(const PartScores& part) {
  return mean_over_targets(
      part, [](double, std::span<const double> quantiles) { return quantiles.back() - quantiles.front(); });
}

double pinball_loss(double target, double quantile, double level) {
  const double error = target - quantile;
  return error >= 0 ? level * error : (level - 1) * error;
}

// The score is an integral over all levels. Twice the mean over the levels approximates it; for the level 0.5 alone it
// is the absolute error. Source: Gneiting and Raftery, Strictly Proper Scoring Rules (2007), sections 4.2 and 6.
MetricResult crps(const PartScores& part) {
  return mean_over_targets(part, [&](double target, std::span<const double> quantiles) {
    double sum = 0;
    for (size_t i = 0; i < quantiles.size(); ++i) sum += pinball_loss(target, quantiles[i], part.levels[i]);
    return 2 * sum / static_cast<double>(quantiles.size());
  });
}

std::vector<MetricInfo> list_of_intervals() {
  using enum NumberKind;
  constexpr double kMost = config::kMostFloat;
  const auto info = [](std::string_view name, std::string_view heading, std::string_view help, NumberKind kind,
                       MetricRange range, OfScores compute, bool is_goal) {
    return MetricInfo{.name = name,
                      .heading = heading,
                      .help = help,
                      .kind = kind,
                      .range = range,
                      .tasks = {MetricTask::kNumbers},
                      .compute = compute,
                      .needs = MetricNeeds::kDistribution,
                      .is_goal = is_goal};
  };
  constexpr MetricRange kSmaller = {Better::kSmaller, 0, kMost, 0};
  return {
      info("coverage", "coverage", "part of the targets within the interval of the forecast quantiles", kShare,
           {Better::kLarger, 0, 1, 1}, coverage, false),
      info("width", "width", "mean width of the interval of the forecast quantiles, in units of the targets", kMeasure,
           kSmaller, width, false),
      info("crps", "CRPS", "continuous ranked probability score, from the forecast quantiles, in units of the targets",
           kMeasure, kSmaller, crps, true),
  };
}

}  // namespace

std::span<const MetricInfo> interval_metrics() {
  static const std::vector<MetricInfo> list = list_of_intervals();
  return list;
}

}  // namespace rnnlab
