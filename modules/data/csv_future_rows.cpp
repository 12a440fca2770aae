// SPDX-License-Identifier: Apache-2.0
#include "data/csv_future_rows.h"

#include <algorithm>
#include <cmath>

namespace rnnlab {
namespace {

bool has_no_measured_value(const CsvTable& table, const MeasuredColumns& measured, int64_t row) {
  const auto at = static_cast<size_t>(row);
  if (!measured.classes.empty() && measured.classes[at] >= 0) return false;
  return std::ranges::all_of(measured.numbers,
                             [at](const NumericColumn* one) { return std::isnan(one->values[at]); }) &&
         std::ranges::all_of(measured.texts, [&](int64_t column) { return table.is_missing(row, column); });
}

}  // namespace

std::vector<std::vector<int64_t>> take_future_rows(const CsvTable& table, const MeasuredColumns& measured,
                                                   const std::vector<int64_t>& rows_after_gaps,
                                                   std::vector<SeriesRows>& series) {
  std::vector<std::vector<int64_t>> taken(series.size());
  if (measured.empty()) return taken;
  const auto follows_gap = [&](int64_t row) {
    return std::ranges::find(rows_after_gaps, row) != rows_after_gaps.end();
  };
  const auto is_future = [&](int64_t row) { return has_no_measured_value(table, measured, row); };
  for (size_t i = 0; i < series.size(); ++i) {
    std::vector<int64_t>& rows = series[i].rows;
    const auto end = std::find_if_not(rows.rbegin(), rows.rend(), is_future).base();
    taken[i].assign(end, std::find_if(end, rows.end(), follows_gap));
    rows.erase(end, rows.end());
  }
  return taken;
}

}  // namespace rnnlab
