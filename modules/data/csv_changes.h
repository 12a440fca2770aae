// SPDX-License-Identifier: Apache-2.0
// Targets that are relative to values of their own window or series. With data.target_as they are changes: what a
// window's targets have more than its last value, or than the value one season before them. A model that says nothing
// then forecasts that value, which is hard to beat where a series wanders or repeats. With data.scale_by they are in
// scales of their series or window (csv_scales.h). Predictions and metrics are of whole values (Samples::target_bases
// and target_units).
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "data/csv_part.h"
#include "data/csv_scales.h"
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

// What targets are relative to: (N, columns x horizons) float64 each, as in Samples.
struct TargetFrame {
  at::Tensor bases;  // undefined if targets are values
  at::Tensor units;  // undefined without data.scale_by
};

// Returns the frame of the targets of these windows, if they are numbers. A change is from a value that carry_forward()
// replaces if it is missing, for a season by whole seasons; else it is NaN. Throws UserError kData if the file has no
// targets before the forecasts, and they are needed.
TargetFrame frame_of_targets(const CsvPart& part, const Windows& windows, const LocalScales& scales,
                             const DataSettings& settings);

// Returns these values (N, columns x horizons) in the frame.
at::Tensor relative_to(const TargetFrame& frame, const at::Tensor& values);

// Returns (N, columns x horizons) float64, the values of these columns in the rows of the targets; NaN if one is
// missing.
at::Tensor values_in(const std::vector<NumericColumn>& columns, const Windows& windows);

// Returns the scaling of each output for these values, which are those of the training part in their frame.
std::vector<Scaling> fit_changes(const at::Tensor& changes, Normalization how);

// Returns the values in their frame as targets: scaled, in float32.
at::Tensor scaled_changes(const at::Tensor& changes, const std::vector<Scaling>& scalings);

}  // namespace rnnlab
