// SPDX-License-Identifier: Apache-2.0
#include "experiment/learning_rate_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "base/text.h"
#include "experiment/opening.h"
#include "experiment/run_context.h"
#include "system/json_fields.h"

namespace rnnlab {
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
  const RateCurve curve = measured_curve(run.trainer);
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
