// SPDX-License-Identifier: Apache-2.0
#include "runs/learning_rate_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "runs/opening.h"
#include "runs/run_context.h"

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

namespace {

RateCurve measured_curve(Trainer& trainer) {
  RateCurve curve;
  trainer.try_rates(rates_to_try(), [&](double rate, double loss) {
    curve.add(rate, loss);
    return !curve.has_diverged();
  });
  return curve;
}

}  // namespace

RateSearch find_learning_rate(const Experiment& experiment, const std::vector<std::string>& command_line,
                              Logger& logger) {
  RunContext run(experiment, command_line);
  Opening opening(logger, {});
  opening.log_run(run);
  opening.log_path(run.path);
  const RateCurve curve = measured_curve(*run.trainer);
  run.refuse_fallbacks();
  log_notes(graph_notes(run), logger);
  const RateSuggestion suggestion = suggest_rate(curve);
  const TrainingSettings& training = run.experiment.training;
  return {.name = run.experiment.name,
          .device = run.experiment.device,
          .layer = implementation_label(run.experiment),
          .precision = run.identity.precision,
          .optimizer = std::string(config::name_of(training.optimizer)),
          .batch_size = std::min(training.batch_size, run.dataset.train.size()),
          .batches_per_step = training.accumulate,
          .diverged = curve.has_diverged(),
          .steps = curve.points(),
          .lowest = curve.lowest(),
          .suggestion = suggestion.learning_rate,
          .reason = suggestion.reason};
}

namespace {

constexpr size_t kRowEvery = kRatesPerDecade / 2;
constexpr double kBarWidth = 30;

// A bar is as long as the loss is above the lowest one, and full at the highest loss before it.
std::string bar_of(const RatePoint& point, double lowest, double highest) {
  if (!std::isfinite(point.smoothed_loss)) return "";
  const double share = highest > lowest ? (point.smoothed_loss - lowest) / (highest - lowest) : 0;
  return std::string(static_cast<size_t>(std::round(kBarWidth * std::min(share, 1.0))), '#');
}

double highest_before(const std::vector<RatePoint>& points, size_t lowest) {
  double highest = points[lowest].smoothed_loss;
  for (size_t i = 0; i < lowest; ++i) highest = std::max(highest, points[i].smoothed_loss);
  return highest;
}

// Returns a row for each half of a power of ten, for the lowest loss, and for the end.
std::string curve_text(const RateSearch& search) {
  const std::vector<RatePoint>& points = search.steps;
  const size_t lowest = search.lowest;
  const double highest = highest_before(points, lowest);
  std::string text = fmt::format("{:<9}{:>11}\n", "rate", "loss");
  for (size_t i = 0; i < points.size(); ++i) {
    const bool is_last = i + 1 == points.size();
    if (i % kRowEvery != 0 && i != lowest && !is_last) continue;
    const RatePoint& point = points[i];
    const char* mark = i == lowest ? "lowest" : is_last && search.diverged ? "diverged" : "";
    const std::string bar = bar_of(point, points[lowest].smoothed_loss, highest);
    const std::string row = fmt::format("{:<9.2g}{:>11}  {} {}", point.learning_rate,
                                        format_significant(point.smoothed_loss, 4), bar, mark);
    text += fmt::format("{}\n", trim(row));
  }
  return text;
}

std::string suggestion_text(const RateSearch& search) {
  if (!search.suggestion) return fmt::format("no suggestion: {}\n", search.reason);
  const std::string rate = format_shortest(*search.suggestion);
  return fmt::format(
      "suggestion {}: {}\n(the range test of Smith 2017, arXiv 1506.01186; the tenth is fastai's practice)\n"
      "In the file:           training: {{learning_rate: {}}}\nOn the command line:   training.learning_rate={}\n",
      rate, search.reason, rate, rate);
}

}  // namespace

std::string rate_search_text(const RateSearch& search) {
  const std::string label = search.label.empty() ? "" : fmt::format(" ({})", search.label);
  return fmt::format("{}{}: {} on {}; {} of {} with rising learning rates: nothing was written\n{}{}", search.name,
                     label, search.layer, search.device, counted(std::ssize(search.steps), "step"), search.optimizer,
                     curve_text(search), suggestion_text(search));
}

std::string rate_search_json(const RateSearch& search) { return json_text(to_json(search)); }

}  // namespace rnnlab
