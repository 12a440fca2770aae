// SPDX-License-Identifier: Apache-2.0
// Rows after the end of a series that only say what is known ahead (data.known). They are not part of the series: no
// window reads them, and no part of a split has them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/csv_time.h"
#include "data/readers/csv.h"

namespace rnnlab {

// What a row of a series says that is not known ahead.
struct MeasuredColumns {
  std::vector<const NumericColumn*> numbers;  // inputs and targets, in the rows of the table
  std::vector<int64_t> texts;                 // columns of the table that are categories
  std::vector<int64_t> classes;               // of the rows of the table, -1 if missing; or empty

  bool empty() const { return numbers.empty() && texts.empty() && classes.empty(); }
};

// Takes the last rows off each series in which none of these columns has a value, and returns them, series by series,
// up to the first one that follows a gap in time. All rows stay if there are no such columns.
std::vector<std::vector<int64_t>> take_future_rows(const CsvTable& table, const MeasuredColumns& measured,
                                                   const std::vector<int64_t>& rows_after_gaps,
                                                   std::vector<SeriesRows>& series);

}  // namespace rnnlab
