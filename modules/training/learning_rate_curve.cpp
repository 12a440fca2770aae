// SPDX-License-Identifier: Apache-2.0
#include "training/learning_rate_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/numbers.h"

namespace rnnlab {
namespace {

constexpr double kSmoothing = 0.9;
constexpr double kDiverged = 4.0;  // times the lowest smoothed loss
constexpr double kShare = 0.1;     // of the best rate
constexpr size_t kNumFirst = 20;   // steps at the lowest rates, where little is learned

struct Level {
  double mean = 0;
  double deviation = 0;  // the standard deviation of one loss
};

Level level_of(std::span<const RatePoint> points) {
  Level level;
  const auto count = static_cast<double>(points.size());
  for (const RatePoint& point : points) level.mean += point.loss / count;
  for (const RatePoint& point : points) level.deviation += std::pow(point.loss - level.mean, 2) / count;
  level.deviation = std::sqrt(level.deviation);
  return level;
}

double with_two_digits(double value) {
  const std::string text = fmt::format("{:.1e}", value);
  return parse_double(text).value_or(value);
}

}  // namespace

std::vector<double> rates_to_try() {
  const auto num_steps = static_cast<int64_t>(std::round(std::log10(kHighestRate / kLowestRate))) * kRatesPerDecade;
  std::vector<double> rates;
  for (int64_t i = 0; i <= num_steps; ++i)
    rates.push_back(kLowestRate * std::pow(10.0, static_cast<double>(i) / static_cast<double>(kRatesPerDecade)));
  return rates;
}

void RateCurve::add(double learning_rate, double loss) {
  average_ = kSmoothing * average_ + (1 - kSmoothing) * loss;
  weight_ = kSmoothing * weight_ + (1 - kSmoothing);
  points_.push_back({.learning_rate = learning_rate, .loss = loss, .smoothed_loss = average_ / weight_});
  const bool is_after_first = points_.size() > kNumFirst && lowest_ < kNumFirst;
  const bool is_lower = points_.back().smoothed_loss < points_[lowest_].smoothed_loss;
  if (std::isfinite(loss) && (is_after_first || is_lower)) lowest_ = points_.size() - 1;
}

bool RateCurve::has_diverged() const {
  if (points_.empty()) return false;
  const double last = points_.back().smoothed_loss;
  return !std::isfinite(last) || last > kDiverged * points_[lowest_].smoothed_loss;
}

RateSuggestion suggest_rate(const RateCurve& curve) {
  const std::vector<RatePoint>& points = curve.points();
  const size_t lowest = curve.lowest();
  if (lowest < kNumFirst)
    return {.learning_rate = std::nullopt,
            .reason = "training diverges at rates as low as these; scale inputs and targets, or clip gradients"};
  const Level first = level_of(std::span(points).first(kNumFirst));
  if (first.mean - points[lowest].smoothed_loss <= first.deviation)
    return {.learning_rate = std::nullopt,
            .reason =
                "the loss does not fall by more than it differs from batch to batch; use larger batches, or "
                "choose a rate by hand"};
  const bool falls_to_the_end = lowest + 1 == points.size();
  return {
      .learning_rate = with_two_digits(kShare * points[lowest].learning_rate),
      .reason = fmt::format("a tenth of {:.2g}, the rate with the lowest smoothed loss{}", points[lowest].learning_rate,
                            falls_to_the_end ? "; the loss was still falling at the highest rate" : "")};
}

}  // namespace rnnlab
