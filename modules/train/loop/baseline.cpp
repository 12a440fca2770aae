// SPDX-License-Identifier: Apache-2.0
#include "train/loop/baseline.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "train/loop/losses.h"
#include "train/loop/ridge.h"

namespace rnnlab {
namespace {

double sum_of(const at::Tensor& values) { return values.sum(at::kDouble).item<double>(); }

// Returns the mean of the values that the mask has.
double mean_of(const at::Tensor& values, const at::Tensor& mask) {
  return values.masked_select(mask).mean(at::kDouble).item<double>();
}

// Returns a mask of the validation targets that are known and for which the forecast is.
at::Tensor are_forecast(const NaiveForecast& forecast, const Dataset& dataset) {
  return are_known(forecast.values).logical_and(are_known(dataset.valid.targets));
}

// Returns a baseline of each naive forecast that has a value for a target.
template <class MetricsOf>
std::vector<Baseline> of_forecasts(const Dataset& dataset, MetricsOf metrics_of) {
  std::vector<Baseline> all;
  for (const NaiveForecast& forecast : dataset.naive_forecasts)
    if (are_forecast(forecast, dataset).any().item<bool>()) all.push_back({forecast.name, metrics_of(forecast)});
  return all;
}

// Returns the part of the forecast targets for which the mask is true.
MetricValues accuracy_of(const at::Tensor& are_right, const NaiveForecast& forecast, const Dataset& dataset) {
  return {{"valid_accuracy", mean_of(are_right, are_forecast(forecast, dataset))}};
}

// ---- numbers ----

// Returns (K) float64, the scales that bring errors back to the units of the targets.
at::Tensor units_of(const Dataset& dataset) {
  std::vector<double> units;
  for (const ColumnScale& target : dataset.target_scales) units.push_back(target.scale);
  if (units.empty()) units.assign(static_cast<size_t>(dataset.valid.targets.size(-1)), 1.0);
  return at::tensor(units, at::kDouble);
}

// The loss is that of training, which a value has only if it is not of a distribution. `predictions` have the shape of
// the targets, or one row for all. Goes over some rows at a time, because float64 copies of all targets may not fit
// into memory.
MetricValues errors_of(const at::Tensor& predictions, const Dataset& dataset, const LossInfo& loss) {
  const at::Tensor targets = target_rows(dataset.valid), units = units_of(dataset);
  const at::Tensor all = predictions.expand_as(targets);
  const bool has_loss = loss.distribution == nullptr;
  double losses = 0, absolutes_in_units = 0, squares_in_units = 0, count_of_all = 0;
  for_rows_at_a_time(targets.size(0), [&](int64_t first, int64_t count) {
    const at::Tensor predicted = all.narrow(0, first, count).to(at::kDouble);
    const at::Tensor wanted = targets.narrow(0, first, count).to(at::kDouble), errors = predicted - wanted;
    at::Tensor in_units = errors * units;
    if (dataset.valid.target_units.defined()) in_units = in_units * dataset.valid.target_units.narrow(0, first, count);
    if (has_loss) losses += loss.function(predicted, wanted, at::Reduction::None).nansum().item<double>();
    absolutes_in_units += in_units.abs().nansum().item<double>();
    squares_in_units += in_units.square().nansum().item<double>();
    count_of_all += sum_of(are_known(errors));
  });
  MetricValues metrics = {{"valid_mae", absolutes_in_units / count_of_all},
                          {"valid_rmse", std::sqrt(squares_in_units / count_of_all)}};
  if (has_loss) metrics["valid_loss"] = losses / count_of_all;
  return metrics;
}

std::vector<Baseline> of_numbers(const Dataset& dataset, const LossInfo& loss) {
  std::vector<Baseline> all =
      of_forecasts(dataset, [&](const NaiveForecast& forecast) { return errors_of(forecast.values, dataset, loss); });
  const Samples& train = dataset.train;
  all.push_back({train.target_units.defined()   ? "mean of the training part in local scales"
                 : train.target_bases.defined() ? "mean change of the training part"
                                                : "mean of the training part",
                 errors_of(target_rows(dataset.train).nanmean(0, true, at::kDouble), dataset, loss)});
  if (const auto ridge = ridge_forecast(dataset))
    all.push_back({"ridge regression of the window", errors_of(*ridge, dataset, loss)});
  return all;
}

// ---- classes and tokens ----

// Returns (classes) float64.
at::Tensor counts_of(const at::Tensor& classes, int64_t num_classes) {
  return at::bincount(classes, {}, num_classes).to(at::kDouble);
}

MetricValues metrics_of_frequencies(const Dataset& dataset) {
  const int64_t num_classes = dataset.shape.num_outputs;
  const at::Tensor train = counts_of(known_classes(dataset.train), num_classes).add(1);
  const at::Tensor valid = counts_of(known_classes(dataset.valid), num_classes);
  const double count = valid.sum().item<double>();
  const at::Tensor are_most_frequent = train.ge(train.max() - 1);
  return {{"valid_loss", -valid.mul(train.div(train.sum()).log()).sum().item<double>() / count},
          {"valid_accuracy", mean_of(valid, are_most_frequent) / count}};
}

std::vector<Baseline> of_classes(const Dataset& dataset) {
  Baseline frequencies{"most frequent class", metrics_of_frequencies(dataset)};
  if (dataset.shape.task != Task::kLanguageModel) {
    std::vector<Baseline> all = of_forecasts(dataset, [&](const NaiveForecast& forecast) {
      return accuracy_of(forecast.values.eq(dataset.valid.targets), forecast, dataset);
    });
    all.push_back(frequencies);
    return all;
  }
  const double loss = frequencies.metrics.at("valid_loss");
  frequencies.name = "token frequencies of the training part";
  frequencies.metrics["valid_perplexity"] = std::exp(loss);
  frequencies.metrics["valid_bits_per_character"] = loss / std::numbers::ln2;
  return {frequencies};
}

// ---- binary targets ----

// Returns (K): how many more targets are 1 than 0.
at::Tensor balance_of(const at::Tensor& targets) { return targets.nansum(0) * 2 - are_known(targets).sum(0); }

// Targets outside of 0 to 1, which this loss accepts too, have no frequency.
std::vector<Baseline> of_binary(const Dataset& dataset) {
  const at::Tensor train = target_rows(dataset.train).to(at::kDouble);
  const at::Tensor valid = target_rows(dataset.valid).to(at::kDouble);
  const at::Tensor part = train.nansum(0).add(1) / (are_known(train).sum(0) + 2);
  if (!part.gt(0).logical_and(part.lt(1)).all().item<bool>()) return {};
  const at::Tensor losses = -(valid * part.log() + (1 - valid) * (1 - part).log());
  const at::Tensor are_there = are_known(valid), is_balanced = balance_of(train).abs().le(1);
  const at::Tensor are_right = valid.ge(0.5).eq(part.gt(0.5)).to(at::kDouble).masked_fill(is_balanced, 0.5);
  std::vector<Baseline> all = of_forecasts(dataset, [&](const NaiveForecast& forecast) {
    return accuracy_of(forecast.values.ge(0.5).eq(dataset.valid.targets.ge(0.5)), forecast, dataset);
  });
  all.push_back({"most frequent class",
                 {{"valid_loss", mean_of(losses, are_there)}, {"valid_accuracy", mean_of(are_right, are_there)}}});
  return all;
}

}  // namespace

std::vector<Baseline> baselines(const Dataset& dataset, LossKind loss) {
  if (dataset.valid.size() == 0) return {};
  const LossInfo& info = info_of(loss);
  switch (info.targets) {
    case LossTargets::kClasses:
      return of_classes(dataset);
    case LossTargets::kBinary:
      return of_binary(dataset);
    case LossTargets::kNumbers:
      return of_numbers(dataset, info);
  }
  fail_invariant("listed targets", __FILE__, __LINE__, "no baseline is known for the targets of the loss");
}

}  // namespace rnnlab
