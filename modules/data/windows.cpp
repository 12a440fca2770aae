// SPDX-License-Identifier: Apache-2.0
#include "data/windows.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/machine.h"
#include "base/text.h"
#include "data/readers/rows.h"

namespace rnnlab {
namespace {

// Windows overlap, and short sequences are padded, so the samples of a small file can take any amount of memory.
void require_memory_for(const Windows& windows, int64_t num_columns) {
  const int64_t num_samples = std::ssize(windows.first), num_rows = std::max<int64_t>(windows.window, 1);
  const int64_t values = saturating_multiply(num_samples, saturating_multiply(num_rows, num_columns));
  const std::string each = fmt::format("{} x {}", counted(num_rows, "row"), counted(num_columns, "column"));
  const auto require = [&](const std::string& samples, std::string_view advice) {
    require_memory(saturating_multiply(values, sizeof(float)), fmt::format("{} of {} take", samples, each), advice,
                   memory_limits());
  };
  if (windows.has_target_per_row) return require(counted(num_samples, "sequence"), "cut long sequences by data.window");
  if (windows.window == 0) return require(counted(num_samples, "sample"), "use fewer rows or fewer data.features");
  require("data.window: " + counted(num_samples, "window"),
          "use a shorter window, or fewer rows by data.num_train and data.num_valid");
}

// Each target has the index of its row, its value, and the value of a naive forecast.
void require_memory_for_targets(int64_t num_samples, const std::vector<int64_t>& horizons) {
  constexpr int64_t kBytes = sizeof(int64_t) + 2 * sizeof(float);
  if (horizons.size() == 1) return;
  require_memory(saturating_multiply(kBytes, saturating_multiply(num_samples, std::ssize(horizons))),
                 fmt::format("data.horizon: {} of {} each take", counted(num_samples, "window"),
                             counted(std::ssize(horizons), "target")),
                 "use fewer horizons or fewer rows", memory_limits());
}

}  // namespace

std::string how_to_fit(int64_t window, int64_t horizon) {
  std::vector<std::string> ways;
  if (window > 1) ways.emplace_back("use a smaller data.window");
  if (horizon > 1) ways.emplace_back("use a smaller data.horizon");
  ways.emplace_back("give it more rows");
  return join(ways, ", or ");
}

namespace {

// Returns how many rows before a part the inputs of its first window use: those whose first target is its first row.
int64_t rows_reached(int64_t num_before, int64_t window, const std::vector<int64_t>& horizons) {
  return std::min(num_before, saturating_add(window - 1, horizons.front()));
}

// Returns the rows from the first row of a window to its last target.
int64_t reach_of(int64_t window, const std::vector<int64_t>& horizons) {
  return saturating_add(window - 1, horizons.back());
}

// Returns so many windows, of which the first begins with the row `begin`.
Windows windows_from(int64_t begin, int64_t num_windows, const std::vector<int64_t>& rows, int64_t window,
                     const std::vector<int64_t>& horizons) {
  require_memory_for_targets(num_windows, horizons);
  Windows windows{.window = window, .first = {}, .target = {}, .num_horizons = horizons.size()};
  for (int64_t first = begin; first < begin + num_windows; ++first) {
    windows.first.push_back(first);
    for (const int64_t horizon : horizons) {
      const int64_t target = saturating_add(first + window - 1, horizon);
      windows.target.push_back(target <= rows.back() ? target : kNoRow);
    }
  }
  return windows;
}

}  // namespace

int64_t rows_for_one_window(int64_t num_before, int64_t window, const std::vector<int64_t>& horizons) {
  return saturating_add(reach_of(window, horizons), 1) - rows_reached(num_before, window, horizons);
}

Windows windows_in(const std::vector<int64_t>& rows, int64_t num_before, int64_t window,
                   const std::vector<int64_t>& horizons, const std::string& part) {
  if (window == 0) return {.window = 0, .first = rows, .target = rows};
  const auto num_rows = static_cast<int64_t>(rows.size());
  const int64_t needed = rows_for_one_window(num_before, window, horizons);
  if (num_rows < needed) {
    throw_error(ExitCode::kData, "{} has {}, but a data.window of {} with a data.horizon of {} needs at least {}; {}",
                part, counted(num_rows, "row"), window, horizons.back(), needed, how_to_fit(window, horizons.back()));
  }
  return windows_from(rows.front() - rows_reached(num_before, window, horizons), num_rows - needed + 1, rows, window,
                      horizons);
}

Windows all_windows_in(const std::vector<int64_t>& rows, int64_t window, const std::vector<int64_t>& horizons,
                       const std::string& part) {
  if (window == 0) return windows_in(rows, 0, window, horizons, part);
  const auto num_rows = static_cast<int64_t>(rows.size());
  if (num_rows < window)
    throw_error(ExitCode::kData, "{} has {}, but a data.window of {} needs as many; give it more rows", part,
                counted(num_rows, "row"), window);
  return windows_from(rows.front(), num_rows - window + 1, rows, window, horizons);
}

Windows sequences_in(std::span<const RowRange> series, int64_t window) {
  Windows all{.window = 0, .first = {}, .target = {}, .has_target_per_row = true};
  for (const RowRange& range : series)
    for (int64_t first = range.begin; first < range.end;) {
      const int64_t left = range.end - first, length = window == 0 ? left : std::min(window, left);
      all.first.push_back(first);
      all.lengths.push_back(length);
      all.window = std::max(all.window, length);
      first += length;
    }
  return all;
}

Windows selected(const Windows& windows, const std::vector<int64_t>& samples) {
  Windows some{.window = windows.window,
               .first = at_rows(windows.first, samples),
               .target = {},
               .num_horizons = windows.num_horizons,
               .has_target_per_row = windows.has_target_per_row,
               .lengths = at_rows(windows.lengths, samples)};
  const size_t num_targets = windows.target.empty() ? 0 : windows.num_horizons;
  for (const int64_t sample : samples)
    for (size_t i = 0; i < num_targets; ++i)
      some.target.push_back(windows.target[static_cast<size_t>(sample) * num_targets + i]);
  return some;
}

std::vector<int64_t> rows_of(const Windows& sequences) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < sequences.first.size(); ++i)
    for (int64_t row = 0; row < sequences.lengths[i]; ++row) rows.push_back(sequences.first[i] + row);
  return rows;
}

namespace {

// Returns the first row of each sample's inputs, and how many rows the sample has.
RowRange rows_of_inputs(const Windows& windows, size_t sample) {
  const int64_t first = windows.first[sample];
  if (!windows.lengths.empty()) return {first, first + windows.lengths[sample]};
  return {first, first + std::max<int64_t>(windows.window, 1)};
}

}  // namespace

at::Tensor gather_inputs(const Columns& columns, const Windows& windows) {
  const int64_t num_samples = std::ssize(windows.first), num_columns = std::ssize(columns);
  require_memory_for(windows, num_columns);
  const int64_t num_rows = windows.window == 0 ? num_columns : windows.window;
  const int64_t row_size = windows.window == 0 ? 1 : num_columns;
  at::Tensor inputs = at::empty({num_samples, num_rows, row_size}, at::kFloat);
  if (!windows.lengths.empty()) inputs.zero_();
  for (size_t sample = 0; sample < windows.first.size(); ++sample) {
    float* out = inputs.mutable_data_ptr<float>() + static_cast<int64_t>(sample) * num_rows * row_size;
    const RowRange rows = rows_of_inputs(windows, sample);
    for (int64_t row = rows.begin; row < rows.end; ++row)
      for (const ScaledColumn& column : columns) *out++ = static_cast<float>(column.at(row));
  }
  return inputs;
}

at::Tensor gather_values(const Columns& columns, const Windows& windows) {
  if (windows.has_target_per_row) return gather_inputs(columns, windows);
  const size_t num_horizons = windows.num_horizons;
  at::Tensor values =
      at::empty({std::ssize(windows.first), std::ssize(columns) * static_cast<int64_t>(num_horizons)}, at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  for (size_t sample = 0; sample < windows.first.size(); ++sample) {
    const std::span rows(windows.target.data() + sample * num_horizons, num_horizons);
    for (const ScaledColumn& column : columns)
      for (const int64_t row : rows)
        *out++ = row == kNoRow ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(column.at(row));
  }
  return values;
}

namespace {

at::Tensor gather_classes_of_rows(const std::vector<int64_t>& classes, const Windows& sequences) {
  at::Tensor values = at::zeros({std::ssize(sequences.first), sequences.window}, at::kLong);
  int64_t* const out = values.mutable_data_ptr<int64_t>();
  for (size_t sample = 0; sample < sequences.first.size(); ++sample) {
    const RowRange rows = rows_of_inputs(sequences, sample);
    std::copy(classes.begin() + rows.begin, classes.begin() + rows.end,
              out + static_cast<int64_t>(sample) * sequences.window);
  }
  return values;
}

}  // namespace

at::Tensor gather_classes(const std::vector<int64_t>& classes, const Windows& windows) {
  if (windows.has_target_per_row) return gather_classes_of_rows(classes, windows);
  at::Tensor values = at::empty({static_cast<int64_t>(windows.target.size())}, at::kLong);
  int64_t* out = values.mutable_data_ptr<int64_t>();
  for (const int64_t row : windows.target) *out++ = row == kNoRow ? -1 : classes[static_cast<size_t>(row)];
  return values;
}

}  // namespace rnnlab
