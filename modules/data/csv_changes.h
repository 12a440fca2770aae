// SPDX-License-Identifier: Apache-2.0
// Targets as changes (data.target_as): what a window's targets have more than its last value, or than the value one
// season before them. A model that says nothing then forecasts that value, which is hard to beat where a series wanders
// or repeats. The values come back in predictions and in metrics of whole values (Samples::target_bases).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "data/csv_part.h"
#include "data/scaling.h"

namespace rnnlab {

// The rows up to the last row of a window are known. Returns the rows between a target and the latest known row that is
// a whole number of seasons before it.
int64_t seasons_before(int64_t season, int64_t horizon);

// Returns (N, columns x horizons) float64, the value from which each target is a change; undefined for data.target_as:
// value. Where it is missing, the latest one before it in the series counts, or for a season the latest one of the same
// place in it, but none before a gap in time; else it is NaN. Throws UserError kData if the file has no targets.
at::Tensor bases_of_targets(const CsvPart& part, const Windows& windows, const DataSettings& settings);

// Returns (N, columns x horizons) float64, the values of these columns in the rows of the targets; NaN if one is
// missing.
at::Tensor values_in(const std::vector<NumericColumn>& columns, const Windows& windows);

// Returns the scaling of each output for these changes, which are those of the training part.
std::vector<Scaling> fit_changes(const at::Tensor& changes, Normalization how);

// Returns the changes as targets: scaled, in float32.
at::Tensor scaled_changes(const at::Tensor& changes, const std::vector<Scaling>& scalings);

}  // namespace rnnlab
