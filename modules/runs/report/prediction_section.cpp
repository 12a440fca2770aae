// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/numbers.h"
#include "base/text.h"
#include "results/table.h"
#include "runs/report/sections.h"

namespace rnnlab::report {
namespace {

constexpr size_t kMostClassesOfAMap = 40;

void append_confusion(std::vector<Block>& blocks, const DetailedMetrics& metrics, const std::string& prefix) {
  if (metrics.classes.size() > kMostClassesOfAMap) {
    blocks.emplace_back(Sentences{
        {fmt::format("The confusion matrix of {} classes is too large for a chart; `rnnlab evaluate --json` has it.",
                     metrics.classes.size())}});
    return;
  }
  HeatMap map;
  map.x = {.name = "predicted class"};
  map.y = {.name = "class of the target"};
  map.value = {.name = metrics.row + "s"};
  for (const ClassMetrics& one : metrics.classes) {
    map.columns.push_back(one.name);
    map.rows.push_back(one.name);
  }
  for (const std::vector<int64_t>& row : metrics.confusion) map.cells.emplace_back(row.begin(), row.end());
  blocks.emplace_back(Chart{
      .id = prefix + "-confusion",
      .title = "Confusion matrix",
      .description = fmt::format("Numbers of {}s. A row for each class of the targets, a column for each predicted "
                                 "class; right predictions are on the diagonal.",
                                 metrics.row),
      .data = Prominence::kOpen,
      .body = std::move(map)});
}

Curve curve_of(const std::string& name, const std::vector<double>& values, size_t style) {
  Curve curve = {.group = name, .name = name, .style = style};
  for (const double value : values) curve.points.push_back({.x = static_cast<double>(curve.points.size()), .y = value});
  return curve;
}

// Gives a curve a band from the lowest to the highest forecast quantile.
void add_band(Curve& curve, const ForecastCurve& forecast) {
  if (forecast.low.empty()) return;
  curve.intervals = IntervalLook::kBand;
  for (size_t i = 0; i < curve.points.size(); ++i)
    curve.points[i].interval = Interval{.low = forecast.low[i], .high = forecast.high[i]};
}

std::string description_of_band(const std::vector<double>& levels) {
  if (levels.empty()) return "";
  return fmt::format(" The band is from the {:g} to the {:g} quantile: it should hold {:.3g} % of the targets.",
                     levels.front(), levels.back(), 100 * (levels.back() - levels.front()));
}

Axis axis_of_samples(const ForecastCurve& forecast, const PredictionOverview& overview) {
  if (!forecast.dates.empty()) return {.name = overview.id_name, .labels = forecast.dates};
  return {.name = overview.is_series ? overview.metrics.row : "rank of the target"};
}

Chart forecast_chart(const ForecastCurve& forecast, const PredictionOverview& overview, const std::string& id) {
  std::vector<Curve> curves = {curve_of("target", forecast.truth, 0), curve_of("prediction", forecast.predicted, 1)};
  add_band(curves.back(), forecast);
  if (!forecast.naive.empty()) curves.push_back(curve_of(overview.naive_name, forecast.naive, 2));
  const std::string count = counted(std::ssize(forecast.truth), overview.metrics.row);
  const std::string description =
      overview.is_series ? fmt::format("The first {} of the part, one after the other, in the target's units.", count)
                         : fmt::format(
                               "{}, evenly spread over the part, in the order of their targets and in their "
                               "units.",
                               count);
  return {.id = id,
          .title = fmt::format("{}: target and prediction", forecast.target),
          .description = description + description_of_band(overview.levels),
          .body = Curves{axis_of_samples(forecast, overview), {.name = forecast.target}, std::move(curves)}};
}

Curve curve_by_horizon(const std::string& name, const std::vector<double>& errors, const std::vector<int64_t>& horizons,
                       size_t style) {
  Curve curve = {.group = name, .name = name, .style = style};
  for (size_t i = 0; i < errors.size(); ++i)
    curve.points.push_back({.x = static_cast<double>(horizons[i]), .y = errors[i]});
  return curve;
}

Chart horizon_chart(const PredictionOverview& overview, const std::string& id) {
  std::vector<Curve> curves;
  for (const HorizonErrors& one : overview.by_horizon) {
    curves.push_back(
        curve_by_horizon(one.target + ": model", one.root_mean_squared_errors, overview.horizons, curves.size()));
    for (const auto& [name, errors] : one.naive)
      curves.push_back(
          curve_by_horizon(fmt::format("{}: {}", one.target, name), errors, overview.horizons, curves.size()));
  }
  return {.id = id,
          .title = "Error by horizon",
          .description = "RMSE in the units of the target, by the number of rows after the window.",
          .body = Curves{{.name = "horizon", .unit = "rows"}, {.name = "RMSE"}, std::move(curves)}};
}

NamedTable error_table(const PredictionOverview& overview, const std::string& prefix) {
  const bool has_classes = !overview.metrics.classes.empty(), is_single = overview.metrics.targets.empty();
  const ColumnList<SampleError> columns = {{overview.metrics.row, &SampleError::sample, Align::kLeft},
                                           {"target", &SampleError::target, Align::kLeft},
                                           {"prediction", &SampleError::prediction, Align::kLeft},
                                           {has_classes ? "missing probability"
                                            : is_single ? "absolute error"
                                                        : "largest absolute error",
                                            [](const SampleError& one) { return format_significant(one.error, 4); }}};
  return {prefix + "-errors",
          fmt::format("{} with the largest errors", overview.metrics.row == "step" ? "Steps" : "Samples"),
          table_of(columns, overview.largest_errors)};
}

// Returns a row for the model and one for each prediction without a model.
void append_baselines(std::vector<Block>& blocks, const std::optional<PartQuality>& quality,
                      const std::string& prefix) {
  if (!quality || quality->baselines.empty()) return;
  std::vector<Baseline> rows = {{"the model", quality->model}};
  for (const Baseline& baseline : quality->baselines)
    rows.push_back({"without a model: " + baseline.name, baseline.metrics});
  ColumnList<Baseline> columns = {{"prediction", &Baseline::name, Align::kLeft}};
  for (const auto& [metric, value] : quality->model)
    columns.emplace_back(heading_on(metric, name_of_part(quality->part)), [name = metric](const Baseline& row) {
      return row.metrics.contains(name) ? format_significant(row.metrics.at(name), 4) : kNothing;
    });
  blocks.emplace_back(
      NamedTable{prefix + "-baselines", "The model and predictions without a model", table_of(columns, rows)});
}

}  // namespace

Section prediction_section(const std::string& run, const RunPredictions& predictions, const std::string& prefix) {
  const PredictionOverview& overview = *predictions.overview;
  Section section = {.id = prefix, .heading = "Predictions of " + run};
  std::vector<Block>& blocks = section.blocks;
  blocks.emplace_back(Sentences{{fmt::format("From the checkpoint that predict uses, on {}.", overview.data)}});
  append_baselines(blocks, predictions.quality, prefix);
  for (size_t i = 0; i < overview.forecasts.size(); ++i)
    blocks.emplace_back(forecast_chart(overview.forecasts[i], overview, fmt::format("{}-forecast-{}", prefix, i + 1)));
  if (!overview.by_horizon.empty()) blocks.emplace_back(horizon_chart(overview, prefix + "-horizons"));
  if (!overview.metrics.classes.empty()) {
    append_confusion(blocks, overview.metrics, prefix);
    blocks.emplace_back(NamedTable{prefix + "-classes", "Precision, recall and F1", class_table(overview.metrics)});
  }
  if (!overview.metrics.targets.empty())
    blocks.emplace_back(NamedTable{prefix + "-targets", "Errors by target", target_table(overview.metrics)});
  if (!overview.largest_errors.empty()) blocks.emplace_back(error_table(overview, prefix));
  return section;
}

}  // namespace rnnlab::report
