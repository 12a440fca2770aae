// SPDX-License-Identifier: Apache-2.0
#include "data/csv_changes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <limits>

namespace rnnlab {
namespace {

// Returns the latest known value up to a row of the window's series.
double latest_until(const CsvPart& part, const std::vector<double>& values, int64_t row) {
  const int64_t begin = part.series_of(row).rows.begin;
  for (int64_t before = row; before >= begin; --before) {
    if (const double value = values[static_cast<size_t>(before)]; !std::isnan(value)) return value;
    if (part.has_break(before - 1, before)) break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// Returns (N, columns x horizons) of visit(column, sample, horizon).
template <class Visit>
at::Tensor for_each_output(const std::vector<NumericColumn>& columns, const Windows& windows, Visit visit) {
  const size_t num_horizons = windows.num_horizons;
  const auto num_outputs = std::ssize(columns) * static_cast<int64_t>(num_horizons);
  at::Tensor result = at::empty({std::ssize(windows.first), num_outputs}, at::kDouble);
  double* out = result.mutable_data_ptr<double>();
  for (size_t sample = 0; sample < windows.first.size(); ++sample)
    for (const NumericColumn& column : columns)
      for (size_t horizon = 0; horizon < num_horizons; ++horizon) *out++ = visit(column, sample, horizon);
  return result;
}

}  // namespace

at::Tensor last_targets(const CsvPart& part, const Windows& windows) {
  return for_each_output(part.targets, windows, [&](const NumericColumn& column, size_t sample, size_t) {
    return latest_until(part, column.values, windows.first[sample] + windows.window - 1);
  });
}

at::Tensor values_in(const std::vector<NumericColumn>& columns, const Windows& windows) {
  return for_each_output(columns, windows, [&](const NumericColumn& column, size_t sample, size_t horizon) {
    const int64_t row = windows.target[sample * windows.num_horizons + horizon];
    return row == kNoRow ? std::numeric_limits<double>::quiet_NaN() : column.values[static_cast<size_t>(row)];
  });
}

std::vector<Scaling> fit_changes(const at::Tensor& changes, Normalization how) {
  std::vector<Scaling> scalings(static_cast<size_t>(changes.size(1)));
  if (!is_fitted(how)) return scalings;
  for (int64_t output = 0; output < changes.size(1); ++output) {
    const at::Tensor values = changes.select(1, output).contiguous();
    scalings[static_cast<size_t>(output)] =
        fit(std::span(values.const_data_ptr<double>(), static_cast<size_t>(values.numel())), how);
  }
  return scalings;
}

at::Tensor scaled_changes(const at::Tensor& changes, const std::vector<Scaling>& scalings) {
  std::vector<double> offsets, scales;
  for (const Scaling& scaling : scalings) {
    offsets.push_back(scaling.offset);
    scales.push_back(scaling.scale);
  }
  return ((changes - at::tensor(offsets, at::kDouble)) / at::tensor(scales, at::kDouble)).to(at::kFloat);
}

}  // namespace rnnlab
