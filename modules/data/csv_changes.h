// SPDX-License-Identifier: Apache-2.0
// Targets as changes (data.target_as): what a window's targets have more than its last value, or than the value one
// season before them. A model that says nothing then forecasts that value, which is hard to beat where a series wanders
// or repeats. The values come back in predictions and in metrics of whole values (Samples::target_bases).
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "data/csv_part.h"
#include "data/scaling.h"

namespace rnnlab {

inline bool is_missing_value(double value) { return std::isnan(value); }
inline bool is_missing_value(int64_t a_class) { return a_class < 0; }

// Replaces missing values by the latest known ones that are whole numbers of `period` rows before them in their series,
// but not before a gap in time.
template <class T>
void carry_forward(std::vector<T>& values, const CsvPart& part, int64_t period) {
  for (const CsvSeries& series : part.series)
    for (int64_t row = series.rows.begin + period; row < series.rows.end; ++row) {
      T& value = values[static_cast<size_t>(row)];
      if (is_missing_value(value) && !part.has_break(row - period, row))
        value = values[static_cast<size_t>(row - period)];
    }
}

// The rows up to the last row of a window are known. Returns the rows between a target and the latest known row that is
// a whole number of seasons before it.
int64_t seasons_before(int64_t season, int64_t horizon);

// Returns (N, columns x horizons) float64, the value from which each target is a change; undefined for data.target_as:
// value. A missing one is replaced by carry_forward(), for a season by whole seasons; else it is NaN. Throws UserError
// kData if the file has no targets.
at::Tensor bases_of_targets(const CsvPart& part, const Windows& windows, const DataSettings& settings);

// Returns (N, columns x horizons) float64, the values of these columns in the rows of the targets; NaN if one is
// missing.
at::Tensor values_in(const std::vector<NumericColumn>& columns, const Windows& windows);

// Returns the scaling of each output for these changes, which are those of the training part.
std::vector<Scaling> fit_changes(const at::Tensor& changes, Normalization how);

// Returns the changes as targets: scaled, in float32.
at::Tensor scaled_changes(const at::Tensor& changes, const std::vector<Scaling>& scalings);

}  // namespace rnnlab
