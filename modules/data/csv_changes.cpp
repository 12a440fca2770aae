// SPDX-License-Identifier: Apache-2.0
#include "data/csv_changes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

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

namespace {

// Returns what the values before a forecast are needed for, or "".
std::string key_that_needs_targets(const DataSettings& settings) {
  if (are_changes(settings)) return fmt::format("data.target_as: {}", config::name_of(settings.target_as));
  return settings.scale_by == ScaleBy::kWindow ? "data.scale_by: window" : "";
}

void require_targets_before(const CsvPart& part, const DataSettings& settings) {
  const std::string key = key_that_needs_targets(settings);
  if (key.empty() || part.has_targets()) return;
  throw_error(ExitCode::kData, "{}: no column is called {}, whose values before a forecast are a part of it ({})",
              part.table.path(), in_quotes(settings.target.front()), key);
}

at::Tensor last_values(const CsvPart& part, const Windows& windows, const DataSettings& settings) {
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

// Returns the offsets and the scales of the targets' own series or windows.
TargetFrame local_frame(const CsvPart& part, const Windows& windows, const LocalScales& scales,
                        const DataSettings& settings) {
  const std::array shape = {std::ssize(windows.first), std::ssize(target_names(settings))};
  const TargetFrame frame{at::empty(shape, at::kDouble), at::empty(shape, at::kDouble)};
  double* base = frame.bases.mutable_data_ptr<double>();
  double* unit = frame.units.mutable_data_ptr<double>();
  for (size_t sample = 0; sample < windows.first.size(); ++sample)
    for (size_t target = 0; target < settings.target.size(); ++target) {
      const Scaling own = scales.of_target(part, windows, sample, target);
      base = std::fill_n(base, settings.horizon.size(), own.offset);
      unit = std::fill_n(unit, settings.horizon.size(), own.scale);
    }
  return frame;
}

}  // namespace

TargetFrame frame_of_targets(const CsvPart& part, const Windows& windows, const LocalScales& scales,
                             const DataSettings& settings) {
  if (!are_relative(settings) || csv_task(settings) != Task::kRegression) return {};
  require_targets_before(part, settings);
  TargetFrame frame;
  if (!scales.are_those_of_file()) frame = local_frame(part, windows, scales, settings);
  if (are_changes(settings)) frame.bases = last_values(part, windows, settings);
  return frame;
}

at::Tensor relative_to(const TargetFrame& frame, const at::Tensor& values) {
  const at::Tensor changes = values - frame.bases;
  return frame.units.defined() ? changes / frame.units : changes;
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
