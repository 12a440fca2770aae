// Rows of numbers -> samples: each row by itself, or windows that slide over a series. Pure functions on columns, which
// know neither files nor scaling.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rnnlab {

// Columns of numbers, all equally long; row r of the file is item r.
using Columns = std::vector<std::vector<double>>;

// Rows of one part and, for each sample, where its inputs begin and which row holds its target.
struct Windows {
  int64_t window = 0;           // 0: every row is a sample
  std::vector<int64_t> first;   // first row of the inputs
  std::vector<int64_t> target;  // row of the target, or kNoRow
};

inline constexpr int64_t kNoRow = -1;  // beyond the end of the series

// The samples that lie wholly in `rows`, which follow one another in the file when window > 0. UserError kData names
// `part` where there is none.
Windows windows_in(const std::vector<int64_t>& rows, int64_t window, int64_t horizon, const std::string& part);

// The same with the windows whose target is still to come.
Windows all_windows_in(const std::vector<int64_t>& rows, int64_t window, int64_t horizon, const std::string& part);

// Window 0: (N, columns, 1), the row's values one after the other. Else (N, window, columns).
at::Tensor gather_inputs(const Columns& columns, const Windows& windows);

// (N, columns) float32; NaN where there is no row.
at::Tensor gather_values(const Columns& columns, const Windows& windows);

// (N) int64; -1 where there is no row.
at::Tensor gather_classes(const std::vector<int64_t>& classes, const Windows& windows);

}  // namespace rnnlab
