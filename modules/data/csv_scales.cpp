// SPDX-License-Identifier: Apache-2.0
#include "data/csv_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/text.h"
#include "data/readers/rows.h"

namespace rnnlab {

Columns scaled(const std::vector<NumericColumn>& columns, const std::vector<Scaling>& scalings) {
  Columns result;
  for (size_t i = 0; i < columns.size(); ++i)
    result.push_back({columns[i].values, scalings[i].offset, scalings[i].scale});
  return result;
}

namespace {

// Equal values have no scale of their own, because they would be divided by 0. `least` is a part of the scale of the
// whole that the values are of.
Scaling fit_local(std::span<const double> values, Normalization how, const Scaling& whole, double least = 0) {
  Moments moments;
  for (const double value : values)
    if (!std::isnan(value)) moments.add(value);
  if (moments.count() == 0) return whole;
  Scaling own = fit(moments, how);
  if (moments.minimum() == moments.maximum()) own.scale = whole.scale;
  own.scale = std::max(own.scale, least * whole.scale);
  return own;
}

// A window that hardly varies would make any change of its target huge.
constexpr double kLeastOfWindow = 0.01;

Scaling scaling_of(const ColumnScale& column) { return {column.offset, column.scale}; }

// Returns the scales of columns over some rows.
std::vector<ColumnScale> fit_columns(const std::vector<NumericColumn>& columns, const std::vector<int64_t>& rows,
                                     Normalization how, const std::vector<ColumnScale>& whole) {
  std::vector<ColumnScale> scales;
  for (const NumericColumn& column : columns) {
    const auto of_whole = std::ranges::find(whole, column.name, &ColumnScale::name);
    const std::vector<double> values = at_rows(column.values, rows);
    const Scaling own = of_whole == whole.end() ? fit(values, how) : fit_local(values, how, scaling_of(*of_whole));
    scales.push_back({column.name, own.offset, own.scale});
  }
  return scales;
}

std::vector<int64_t> rows_of_series(const CsvSeries& series, const std::vector<int64_t>& rows) {
  return {std::ranges::lower_bound(rows, series.rows.begin), std::ranges::lower_bound(rows, series.rows.end)};
}

std::vector<Scaling> fit_all(const std::vector<NumericColumn>& columns, const std::vector<int64_t>& rows,
                             Normalization how) {
  std::vector<Scaling> scalings;
  for (const NumericColumn& column : columns) scalings.push_back(fit(at_rows(column.values, rows), how));
  return scalings;
}

// Returns the first of the rows in each series.
std::vector<int64_t> first_rows_of_series(const CsvPart& part, const std::vector<int64_t>& rows) {
  std::vector<int64_t> firsts;
  for (const CsvSeries& series : part.series) {
    const auto first = std::ranges::lower_bound(rows, series.rows.begin);
    if (first != rows.end() && *first < series.rows.end) firsts.push_back(*first);
  }
  return firsts;
}

}  // namespace

CsvScalings fit_scalings(const CsvPart& part, const std::vector<int64_t>& rows, const DataSettings& settings,
                         Normalization how) {
  const Task task = csv_task(settings);
  CsvScalings scalings{std::vector<Scaling>(part.features.size()), std::vector<Scaling>(part.targets.size())};
  if (!is_fitted(how)) return scalings;
  scalings.features = fit_all(part.features, rows, how);
  const std::vector<int64_t> firsts = first_rows_of_series(part, rows);
  for (size_t i = 0; i < scalings.features.size(); ++i)
    if (is_listed(settings.static_features, part.features[i].name))
      scalings.features[i] = fit(at_rows(part.features[i].values, firsts), how);
  if (task == Task::kRegression) scalings.targets = fit_all(part.targets, rows, how);
  return scalings;
}

CsvScalings scalings_of(const FittedData& fitted, const CsvPart& part, const DataSettings& settings) {
  CsvScalings scalings{
      {}, std::vector<Scaling>(are_relative(settings) ? target_names(settings).size() : part.targets.size())};
  for (const ColumnScale& column : fitted.feature_scales) scalings.features.push_back({column.offset, column.scale});
  const size_t num_scales = are_relative(settings) ? 1 : settings.horizon.size();  // that are equal
  for (size_t i = 0; i < std::min(fitted.target_scales.size() / num_scales, scalings.targets.size()); ++i) {
    const ColumnScale& column = fitted.target_scales[i * num_scales];
    scalings.targets[i] = {column.offset, column.scale};
  }
  return scalings;
}

LocalScales LocalScales::fit(const CsvPart& part, const std::vector<int64_t>& rows, const std::vector<Scaling>& file,
                             const DataSettings& settings, Normalization how) {
  LocalScales scales;
  scales.by_ = settings.scale_by;
  scales.how_ = how;
  if (scales.are_those_of_file()) return scales;
  std::vector<NumericColumn> features;
  for (size_t i = 0; i < part.features.size(); ++i) {
    const NumericColumn& column = part.features[i];
    if (is_listed(settings.known, column.name) || is_listed(settings.static_features, column.name)) continue;
    features.push_back(column);
    scales.whole_.features.push_back({column.name, file[i].offset, file[i].scale});
  }
  scales.whole_.targets = fit_columns(part.targets, rows, how, {});
  for (const CsvSeries& series : part.series) {
    const std::vector<int64_t> own = rows_of_series(series, rows);
    if (own.empty() || series.name.empty()) continue;
    scales.series_[series.name] = {series.name, fit_columns(features, own, how, scales.whole_.features),
                                   fit_columns(part.targets, own, how, scales.whole_.targets)};
  }
  return scales;
}

LocalScales LocalScales::of(const FittedData& fitted, const DataSettings& settings) {
  LocalScales scales;
  if (fitted.series_scales.empty()) return scales;
  scales.by_ = settings.scale_by;
  scales.how_ = fitted.normalization;
  scales.whole_ = fitted.series_scales.front();
  for (const SeriesScales& one : std::span(fitted.series_scales).subspan(1)) scales.series_[one.name] = one;
  return scales;
}

std::vector<SeriesScales> LocalScales::saved() const {
  if (are_those_of_file()) return {};
  std::vector<SeriesScales> all = {whole_};
  for (const auto& [name, scales] : series_) all.push_back(scales);
  return all;
}

const SeriesScales& LocalScales::of_series(const std::string& name) const {
  const auto found = series_.find(name);
  return found == series_.end() ? whole_ : found->second;
}

std::optional<size_t> LocalScales::place_of(const std::string& feature) const {
  const auto found = std::ranges::find(whole_.features, feature, &ColumnScale::name);
  return found == whole_.features.end() ? std::nullopt : std::optional(found - whole_.features.begin());
}

at::Tensor LocalScales::inputs_of(const CsvPart& part, const Windows& windows, const std::vector<Scaling>& file) const {
  if (by_ != ScaleBy::kSeries) {
    const at::Tensor inputs = gather_inputs(scaled(part.features, file), windows);
    if (by_ == ScaleBy::kWindow) scale_windows(part, windows, inputs);
    return inputs;
  }
  std::vector<NumericColumn> columns = part.features;
  std::vector<Scaling> scalings = file;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto place = place_of(columns[i].name);
    if (!place) continue;
    scalings[i] = {};
    for (const CsvSeries& series : part.series) {
      const Scaling own = scaling_of(of_series(series.name).features[*place]);
      for (int64_t row = series.rows.begin; row < series.rows.end; ++row) {
        double& value = columns[i].values[static_cast<size_t>(row)];
        value = (value - own.offset) / own.scale;
      }
    }
  }
  return gather_inputs(scaled(columns, scalings), windows);
}

void LocalScales::scale_windows(const CsvPart& part, const Windows& windows, const at::Tensor& inputs) const {
  float* out = inputs.mutable_data_ptr<float>();
  std::vector<std::optional<size_t>> places;
  for (const NumericColumn& column : part.features) places.push_back(place_of(column.name));
  for (const int64_t first : windows.first) {
    const std::vector<ColumnScale>& of_all = of_series(part.series_of(first).name).features;
    for (size_t feature = 0; feature < places.size(); ++feature) {
      if (!places[feature]) continue;
      const auto values = std::span(part.features[feature].values)
                              .subspan(static_cast<size_t>(first), static_cast<size_t>(windows.window));
      const Scaling own = fit_local(values, how_, scaling_of(of_all[*places[feature]]), kLeastOfWindow);
      for (size_t step = 0; step < values.size(); ++step)
        out[step * places.size() + feature] = static_cast<float>((values[step] - own.offset) / own.scale);
    }
    out += windows.window * std::ssize(places);
  }
}

Scaling LocalScales::of_target(const CsvPart& part, const Windows& windows, size_t sample, size_t target) const {
  const int64_t first = windows.first[sample];
  const Scaling of_all = scaling_of(of_series(part.series_of(first).name).targets[target]);
  if (by_ == ScaleBy::kSeries) return of_all;
  const auto values =
      std::span(part.targets[target].values).subspan(static_cast<size_t>(first), static_cast<size_t>(windows.window));
  return fit_local(values, how_, of_all, kLeastOfWindow);
}

std::string LocalScales::note_on_unknown(const CsvPart& part) const {
  if (by_ != ScaleBy::kSeries) return "";
  std::vector<std::string> unknown;
  for (const CsvSeries& series : part.series)
    if (!series_.contains(series.name)) unknown.push_back(series.name);
  if (unknown.empty()) return "";
  return fmt::format(
      "{} not in the training part, such as {}, and {} the scale of the whole training part "
      "(data.scale_by: series)",
      unknown.size() == 1 ? "1 series is" : fmt::format("{} series are", unknown.size()), in_quotes(unknown.front()),
      unknown.size() == 1 ? "has" : "have");
}

}  // namespace rnnlab
