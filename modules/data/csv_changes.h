// SPDX-License-Identifier: Apache-2.0
// Targets as changes (data.target_as: change): what a window's targets have more than the last value before them. A
// model that says nothing then forecasts the last value, which is hard to beat where a series wanders. The last values
// come back in predictions and in metrics of whole values (Samples::target_bases).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "data/csv_part.h"
#include "data/scaling.h"

namespace rnnlab {

// Returns (N, columns x horizons) float64, the last value of each target at the end of each window, once for each
// horizon. Where it is missing, the latest one before it in the series counts, but none before a gap in time; else NaN.
at::Tensor last_targets(const CsvPart& part, const Windows& windows);

// Returns (N, columns x horizons) float64, the values of these columns in the rows of the targets; NaN if one is
// missing.
at::Tensor values_in(const std::vector<NumericColumn>& columns, const Windows& windows);

// Returns the scaling of each output for these changes, which are those of the training part.
std::vector<Scaling> fit_changes(const at::Tensor& changes, Normalization how);

// Returns the changes as targets: scaled, in float32.
at::Tensor scaled_changes(const at::Tensor& changes, const std::vector<Scaling>& scalings);

}  // namespace rnnlab
