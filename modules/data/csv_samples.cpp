#include "data/csv_samples.h"

#include <ATen/ops/empty.h>

#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "results/memory_limits.h"

namespace rnnlab {
namespace {

double value(const std::vector<double>& column, int64_t row) { return column[static_cast<size_t>(row)]; }

// Windows overlap, so a small file can become samples of any size.
void require_memory_for(int64_t num_samples, int64_t num_rows, int64_t num_columns) {
  const int64_t values = saturating_multiply(num_samples, saturating_multiply(num_rows, num_columns));
  const auto subject = fmt::format("data.window: {} of {} x {} take", counted(num_samples, "window"),
                                   counted(num_rows, "row"), counted(num_columns, "column"));
  require_memory(saturating_multiply(values, sizeof(float)), subject,
                 "use a shorter window, or fewer rows by data.num_train and data.num_valid", memory_limits());
}

}  // namespace

Windows windows_in(const std::vector<int64_t>& rows, int64_t window, int64_t horizon, const std::string& part) {
  if (window == 0) return {0, rows, rows};
  const auto num_rows = static_cast<int64_t>(rows.size());
  const int64_t reach = saturating_add(window - 1, horizon);  // rows from the first of the window to the target
  if (reach >= num_rows) {
    throw_error(ExitCode::kData, "{} has {}, but a data.window of {} with a data.horizon of {} needs at least {}", part,
                counted(num_rows, "row"), window, horizon, saturating_add(reach, 1));
  }
  Windows windows{window, {}, {}};
  for (int64_t i = 0; i + reach < num_rows; ++i) {
    windows.first.push_back(rows[static_cast<size_t>(i)]);
    windows.target.push_back(rows[static_cast<size_t>(i)] + reach);
  }
  return windows;
}

Windows all_windows_in(const std::vector<int64_t>& rows, int64_t window, int64_t horizon, const std::string& part) {
  if (window == 0) return windows_in(rows, window, horizon, part);
  const auto num_rows = static_cast<int64_t>(rows.size());
  if (num_rows < window)
    throw_error(ExitCode::kData, "{} has {}, but a data.window of {} needs as many", part, counted(num_rows, "row"),
                window);
  Windows windows{window, {}, {}};
  for (int64_t i = 0; i + window <= num_rows; ++i) {
    const int64_t target = saturating_add(i + window - 1, horizon);
    windows.first.push_back(rows[static_cast<size_t>(i)]);
    windows.target.push_back(target < num_rows ? rows[static_cast<size_t>(target)] : kNoRow);
  }
  return windows;
}

at::Tensor gather_inputs(const Columns& columns, const Windows& windows) {
  const auto num_samples = static_cast<int64_t>(windows.first.size());
  const auto num_columns = static_cast<int64_t>(columns.size());
  const int64_t num_rows = windows.window == 0 ? 1 : windows.window;
  require_memory_for(num_samples, num_rows, num_columns);
  at::Tensor inputs = windows.window == 0 ? at::empty({num_samples, num_columns, 1}, at::kFloat)
                                          : at::empty({num_samples, num_rows, num_columns}, at::kFloat);
  float* out = inputs.mutable_data_ptr<float>();
  for (const int64_t first : windows.first) {
    for (int64_t row = first; row < first + num_rows; ++row) {
      for (const std::vector<double>& column : columns) *out++ = static_cast<float>(value(column, row));
    }
  }
  return inputs;
}

at::Tensor gather_values(const Columns& columns, const Windows& windows) {
  at::Tensor values =
      at::empty({static_cast<int64_t>(windows.target.size()), static_cast<int64_t>(columns.size())}, at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  for (const int64_t row : windows.target) {
    for (const std::vector<double>& column : columns)
      *out++ = row == kNoRow ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value(column, row));
  }
  return values;
}

at::Tensor gather_classes(const std::vector<int64_t>& classes, const Windows& windows) {
  at::Tensor values = at::empty({static_cast<int64_t>(windows.target.size())}, at::kLong);
  int64_t* out = values.mutable_data_ptr<int64_t>();
  for (const int64_t row : windows.target) *out++ = row == kNoRow ? -1 : classes[static_cast<size_t>(row)];
  return values;
}

}  // namespace rnnlab
