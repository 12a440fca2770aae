// SPDX-License-Identifier: Apache-2.0
// Makes samples of the rows of a table: each row is a sample, windows slide over a series, or a series is cut into
// sequences whose rows are targets too. The functions are pure functions of columns and of numbers of rows. They do not
// depend on files or scaling.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/split.h"

namespace rnnlab {

// A column of numbers, of which row r of the file is item r, and its scaling.
struct ScaledColumn {
  std::span<const double> values;
  double offset = 0;
  double scale = 1;

  double at(int64_t row) const { return (values[static_cast<size_t>(row)] - offset) / scale; }
};

using Columns = std::vector<ScaledColumn>;  // of equal lengths

// For each sample of one part, the first row of its inputs and the rows of its targets, one for each horizon.
struct Windows {
  int64_t window = 0;           // 0: every row is a sample
  std::vector<int64_t> first;   // first row of the inputs
  std::vector<int64_t> target;  // rows of the first sample's targets, then of the second's ...; or kNoRow
  size_t num_horizons = 1;
  bool has_target_per_row = false;    // the samples are sequences of rows, and each row is also a target
  std::vector<int64_t> lengths = {};  // with has_target_per_row: the rows of each sample; `window` is the most
};

inline constexpr int64_t kNoRow = -1;  // the target is after the end of the series

// Returns what a user can do if too few rows are given for a window and a horizon: "use a smaller data.window, or ...".
std::string how_to_fit(int64_t window, int64_t horizon);

// Returns the samples that have all targets in `rows`, which are consecutive if window > 0. Their inputs lie in these
// rows too, or in the `num_before` rows before them. Throws UserError kData with the name `part` if the rows are too
// few for one window.
Windows windows_in(const std::vector<int64_t>& rows, int64_t num_before, int64_t window,
                   const std::vector<int64_t>& horizons, const std::string& part);

// Returns how many rows a part needs for one window, if inputs may lie in the `num_before` rows before it.
int64_t rows_for_one_window(int64_t num_before, int64_t window, const std::vector<int64_t>& horizons);

// Returns windows_in without rows before, and also the windows of which a target is after the end of `rows`.
Windows all_windows_in(const std::vector<int64_t>& rows, int64_t window, const std::vector<int64_t>& horizons,
                       const std::string& part);

// A range of consecutive rows.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Returns samples whose rows are targets too: each range is cut into sequences of `window` rows and a shorter one for
// the rest; 0: a sequence is a whole range. They do not overlap.
Windows sequences_in(std::span<const RowRange> series, int64_t window);

// Returns the windows or sequences of these samples.
Windows selected(const Windows& windows, const std::vector<int64_t>& samples);

// Returns all rows of these sequences.
std::vector<int64_t> rows_of(const Windows& sequences);

// With has_target_per_row, the functions below return (N, window, columns) and (N, window); rows beyond the length of a
// sequence are 0.

// Returns (N, columns, 1) for window 0, with the values of a row as steps; else (N, window, columns).
at::Tensor gather_inputs(const Columns& columns, const Windows& windows);

// Returns (N, columns x horizons) float32, with the horizons of a column side by side; NaN if the target is kNoRow, or
// if the column has none there.
at::Tensor gather_values(const Columns& columns, const Windows& windows);

// Returns (N) int64; -1 if the target is kNoRow. For one horizon only.
at::Tensor gather_classes(const std::vector<int64_t>& classes, const Windows& windows);

}  // namespace rnnlab
