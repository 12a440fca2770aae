// SPDX-License-Identifier: Apache-2.0
#include "data/csv_changes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab {
namespace {

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

int64_t seasons_before(int64_t season, int64_t horizon) { return (horizon + season - 1) / season * season; }

at::Tensor bases_of_targets(const CsvPart& part, const Windows& windows, const DataSettings& settings) {
  if (!are_changes(settings)) return {};
  if (!part.has_targets())
    throw_error(ExitCode::kData,
                "{}: no column is called {}, whose values before a forecast are a part of it (data.target_as: {})",
                part.table.path(), in_quotes(settings.target.front()), config::name_of(settings.target_as));
  const bool is_seasonal = settings.target_as == TargetAs::kSeasonalChange;
  const int64_t period = is_seasonal ? settings.season.value() : 1;
  std::vector<NumericColumn> targets = part.targets;
  for (NumericColumn& column : targets) carry_forward(column.values, part, period);
  return for_each_output(targets, windows, [&](const NumericColumn& column, size_t sample, size_t i) {
    const int64_t horizon = settings.horizon[i], last = windows.first[sample] + windows.window - 1;
    const int64_t row = is_seasonal ? last + horizon - seasons_before(period, horizon) : last;
    return column.values[static_cast<size_t>(row)];
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
