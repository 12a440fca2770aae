// SPDX-License-Identifier: Apache-2.0
#include "runs/use/prediction_overview.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr int64_t kMostPoints = 300;  // of a curve
constexpr int64_t kMostCurves = 4;
constexpr int64_t kMostErrors = 10;

// Returns (M) int64: the samples that have a target.
at::Tensor samples_with_targets(const Predictions& predictions) {
  const at::Tensor known = are_known(predictions.targets);
  return at::arange(known.size(0), at::kLong).masked_select(known.dim() == 1 ? known : known.any(1));
}

// Returns a sentence on unknown targets, or "".
std::string note_on_unknown(const Predictions& predictions) {
  const at::Tensor known = are_known(predictions.targets);
  const int64_t count = known.logical_not().sum().item<int64_t>();
  if (count == 0) return "";
  return fmt::format("; {} of {} targets {} unknown and left out", format_count(count), format_count(known.numel()),
                     count == 1 ? "is" : "are");
}

Predictions selected(const Predictions& predictions, const at::Tensor& samples) {
  Predictions some = predictions;
  some.raw = predictions.raw.index_select(0, samples);
  some.values = predictions.values.index_select(0, samples);
  some.targets = predictions.targets.index_select(0, samples);
  if (some.quantiles.defined()) some.quantiles = predictions.quantiles.index_select(0, samples);
  return some;
}

std::vector<double> numbers_of(const at::Tensor& values) {
  const at::Tensor numbers = values.to(at::kDouble).contiguous();
  const double* first = numbers.const_data_ptr<double>();
  return {first, first + numbers.numel()};
}

std::vector<int64_t> integers_of(const at::Tensor& values) {
  const at::Tensor numbers = values.contiguous();
  const int64_t* first = numbers.const_data_ptr<int64_t>();
  return {first, first + numbers.numel()};
}

// ---- forecasts ----

// Returns (P) int64, the places of at most kMostPoints samples that have this target, and all `others`: the first of a
// series, else places that are evenly spread over the samples in the order of this target.
at::Tensor places_of_points(const at::Tensor& truth, const at::Tensor& others, bool is_series) {
  const at::Tensor known = (truth + others).isnan().logical_not().nonzero().squeeze(1);
  const int64_t count = std::min(known.size(0), kMostPoints);
  if (is_series || count == 0) return known.narrow(0, 0, count);
  const at::Tensor evenly = at::arange(count, at::kLong) * known.size(0) / count;
  const at::Tensor order = truth.index_select(0, known).argsort(/*stable=*/true, 0, false);
  return known.index_select(0, order.index_select(0, evenly.floor().to(at::kLong)));
}

std::vector<ForecastCurve> forecasts_of(const Predictions& predictions, const at::Tensor& naive, bool is_series) {
  std::vector<ForecastCurve> curves;
  const int64_t num_targets = std::ssize(predictions.names), count = std::min(num_targets, kMostCurves);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t target = count == 1 ? 0 : i * (num_targets - 1) / (count - 1);
    const at::Tensor truth = predictions.targets.select(1, target);
    const at::Tensor others = naive.defined() ? naive.select(1, target) : predictions.values.select(1, target);
    const at::Tensor places = places_of_points(truth, others, is_series);
    const auto points_of = [&](const at::Tensor& values) {
      return values.defined() ? numbers_of(values.select(1, target).index_select(0, places)) : std::vector<double>();
    };
    const at::Tensor& quantiles = predictions.quantiles;
    curves.push_back({.target = predictions.names[static_cast<size_t>(target)],
                      .truth = points_of(predictions.targets),
                      .predicted = points_of(predictions.values),
                      .naive = points_of(naive),
                      .low = points_of(quantiles.defined() ? quantiles.select(2, 0) : quantiles),
                      .high = points_of(quantiles.defined() ? quantiles.select(2, -1) : quantiles),
                      .samples = integers_of(places),
                      .output = static_cast<size_t>(target)});
  }
  return curves;
}

// Gives each point of a series the cells of data.id and the date of the row of its target. `known` are the samples of
// the places.
void add_dates(PredictionOverview& overview, const at::Tensor& known, const FileRows& rows,
               const std::vector<int64_t>& horizons) {
  const std::vector<int64_t> samples = integers_of(known);
  for (ForecastCurve& curve : overview.forecasts)
    for (int64_t& sample : curve.samples) sample = samples[static_cast<size_t>(sample)];
  std::vector<std::string> names = rows.id_names;
  const bool adds_time =
      !rows.time_name.empty() && !rows.forecasts.empty() && std::ranges::count(names, rows.time_name) == 0;
  if (adds_time) names.push_back(rows.time_name);
  if (!overview.is_series || names.empty() || !rows.are_numbered) return;
  std::map<int64_t, const FileRow*> own_rows;  // by sample
  for (const FileRow& row : rows.rows)
    if (row.sample) own_rows.emplace(*row.sample, &row);
  overview.id_name = join(names, ", ");
  const auto date_of = [&](const FileRow& row, size_t horizon) {
    if (row.forecasts.empty()) return join(row.id, ", ");  // a target at each step
    const ForecastRow& forecast = rows.forecasts[row.forecasts[horizon]];
    std::vector<std::string> cells = forecast.id;
    if (adds_time) cells.push_back(forecast.time);
    return join(cells, ", ");
  };
  const auto num_horizons = std::max<size_t>(horizons.size(), 1);
  for (ForecastCurve& curve : overview.forecasts)
    for (const int64_t sample : curve.samples) {
      const auto row = own_rows.find(sample);
      curve.dates.push_back(row == own_rows.end() ? "" : date_of(*row->second, curve.output % num_horizons));
    }
}

// ---- errors ----

using NamedValues = std::vector<std::pair<std::string, at::Tensor>>;  // (N, K) float64 in the units of the targets

// Returns the RMSE of a target at each horizon. The outputs are the horizons of the first target, then those of the
// second.
std::vector<double> errors_of_target(const at::Tensor& values, const at::Tensor& targets, int64_t target,
                                     int64_t num_horizons) {
  return numbers_of((values - targets).square().nanmean(0).sqrt().narrow(0, target * num_horizons, num_horizons));
}

// Returns the targets, and NaN for those that a naive forecast has no value for: errors are compared over the same
// targets. A forecast without any value for an output is not compared.
at::Tensor comparable_targets(const Predictions& predictions, const NamedValues& naive) {
  at::Tensor targets = predictions.targets;
  for (const auto& [name, values] : naive) {
    const at::Tensor known = values.isnan().logical_not();
    const at::Tensor is_left_out = known.logical_not().logical_and(known.any(0));
    targets = targets.masked_fill(is_left_out, std::numeric_limits<double>::quiet_NaN());
  }
  return targets;
}

std::vector<HorizonErrors> errors_by_horizon(const Predictions& predictions, const NamedValues& naive,
                                             const DataSettings& settings) {
  const at::Tensor targets = comparable_targets(predictions, naive);
  std::vector<HorizonErrors> by_target;
  for (int64_t target = 0; target < std::ssize(settings.target); ++target) {
    const auto errors_of = [&](const at::Tensor& values) {
      return errors_of_target(values, targets, target, std::ssize(settings.horizon));
    };
    HorizonErrors& errors = by_target.emplace_back();
    errors.target = settings.target[static_cast<size_t>(target)];
    errors.root_mean_squared_errors = errors_of(predictions.values);
    for (const auto& [name, values] : naive) errors.naive.emplace_back(name, errors_of(values));
  }
  return by_target;
}

// Returns the absolute errors, and -1 for missing targets, which are never the largest.
at::Tensor known_errors(const at::Tensor& values, const at::Tensor& targets) {
  return (values - targets).abs().masked_fill(targets.isnan(), -1);
}

// Returns (N) float64.
at::Tensor errors_of(const Predictions& predictions) {
  if (predictions.kind == PredictionKind::kClasses)
    return 1 - predictions.values.gather(1, predictions.targets.unsqueeze(1)).squeeze(1);
  return known_errors(predictions.values, predictions.targets).amax(1);
}

std::string sample_name(int64_t sample, const FileRows& rows) {
  const auto found = std::ranges::find(rows.rows, std::optional(sample), &FileRow::sample);
  if (found == rows.rows.end()) return fmt::format("{}", sample);
  if (!rows.are_numbered && found->id.size() == 1) return found->id.front();
  if (!rows.are_numbered) return fmt::format("sample {}, step {}", found->id.front(), found->id.back());
  const std::string id = found->id.empty() ? "" : fmt::format(" ({})", join(found->id, ", "));
  return fmt::format("row {}{}", found->number, id);
}

// Of several numbers, the one with the largest error is shown.
SampleError error_of_numbers(const Predictions& predictions, int64_t place, double error) {
  const at::Tensor target = predictions.targets.select(0, place), predicted = predictions.values.select(0, place);
  const int64_t worst = known_errors(predicted, target).argmax().item<int64_t>();
  const std::string& name = predictions.names[static_cast<size_t>(worst)];
  const std::string prefix = predictions.names.size() > 1 ? name + ": " : "";
  return {"", fmt::format("{}{:.6g}", prefix, target[worst].item<double>()),
          fmt::format("{}{:.6g}", prefix, predicted[worst].item<double>()), error};
}

SampleError error_at(const Predictions& predictions, int64_t place, double error) {
  if (predictions.kind != PredictionKind::kClasses) return error_of_numbers(predictions, place, error);
  const at::Tensor probabilities = predictions.values.select(0, place);
  const auto predicted = static_cast<size_t>(probabilities.argmax().item<int64_t>());
  const auto target = static_cast<size_t>(predictions.targets[place].item<int64_t>());
  return {"", predictions.names[target],
          fmt::format("{} ({:.4f})", predictions.names[predicted], probabilities.max().item<double>()), error};
}

std::vector<SampleError> largest_errors(const Predictions& predictions, const at::Tensor& samples,
                                        const FileRows& rows) {
  const at::Tensor errors = errors_of(predictions);
  const at::Tensor order = errors.argsort(/*stable=*/true, 0, /*descending=*/true);
  std::vector<SampleError> largest;
  for (int64_t i = 0; i < std::min(order.size(0), kMostErrors); ++i) {
    const int64_t place = order[i].item<int64_t>();
    largest.push_back(error_at(predictions, place, errors[place].item<double>()));
    largest.back().sample = sample_name(samples[place].item<int64_t>(), rows);
  }
  return largest;
}

}  // namespace

PredictionOverview prediction_overview(const TrainedModel& trained, const InferenceData& data,
                                       const Predictions& predictions) {
  const at::Tensor samples =
      predictions.targets.defined() ? samples_with_targets(predictions) : at::empty({0}, at::kLong);
  if (samples.size(0) == 0)
    throw_error(ExitCode::kData, "{}: no sample has a target, so there are no errors to show", data.description);
  const Predictions known = selected(predictions, samples);
  PredictionOverview overview;
  overview.data = data.description + note_on_unknown(predictions);
  overview.metrics = detailed_metrics(known);
  overview.largest_errors = largest_errors(known, samples, data.rows);
  if (known.kind != PredictionKind::kValues) return overview;
  overview.is_series = trained.experiment.data.window > 0 || trained.data.shape.target_per_step;
  NamedValues naive;
  for (const NaiveForecast& forecast : data.naive_forecasts)
    naive.emplace_back(forecast.name,
                       in_units_of_targets(forecast.values, trained.data, data.samples).index_select(0, samples));
  if (!naive.empty()) overview.naive_name = naive.back().first;  // of a season, if there is one
  overview.forecasts = forecasts_of(known, naive.empty() ? at::Tensor() : naive.back().second, overview.is_series);
  overview.levels = known.levels;
  const DataSettings& settings = trained.experiment.data;
  add_dates(overview, samples, data.rows, settings.horizon);
  if (settings.horizon.size() == 1) return overview;
  overview.horizons = settings.horizon;
  overview.by_horizon = errors_by_horizon(known, naive, settings);
  return overview;
}

}  // namespace rnnlab
