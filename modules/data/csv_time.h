// SPDX-License-Identifier: Apache-2.0
// The order of the rows of a CSV file in time. A series is read from its first row to its last, so rows that are not in
// the order of time, repeat a time or leave some out are refused, unless data.unsorted, data.duplicates and data.gaps
// say what to do. Nothing is reordered or left out without a note.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/readers/csv.h"
#include "data/readers/times.h"
#include "data/windows.h"

namespace rnnlab {

// The rows of one series, as rows of the table, in the order in which they are read.
struct SeriesRows {
  std::string name;                 // "" without data.group
  std::vector<int64_t> rows;        // kNoRow for one that is inserted
  std::vector<int64_t> times = {};  // of the rows, if data.gaps inserts some
};

// Returns the rows of each series in the order of the file, and the series in the order of their first rows. `group` is
// the column with their names, "" for one series. Throws UserError kData if a name is missing.
std::vector<SeriesRows> rows_by_series(const CsvTable& table, const std::string& group);

// Returns data.time, or the first column of times among those that the settings do not use as inputs, targets or names
// of series, those of data.id before others, or "" if no column has times.
std::string find_time_column(const CsvTable& table, const DataSettings& settings);

// Returns "data.gaps: split", or another key that needs the times of the rows; "" if none of the settings does.
std::string setting_that_needs_times(const DataSettings& settings);

// Returns whether the settings ignore whatever the times say.
bool ignores_times(const DataSettings& settings);

struct TimeTreatment {
  std::vector<std::string> notes;
  std::vector<int64_t> rows_after_gaps;  // of the table; only with data.gaps: split
  std::optional<DateOrder> order = {};   // ColumnTimes::order
};

// Sorts and removes rows of the series as the settings say. Throws UserError kData, with the line, for what they do not
// allow, and if a cell of `column` is not a time. Dates are read by `order` as in times_of_column().
TimeTreatment order_by_time(const CsvTable& table, const std::string& column, std::optional<DateOrder> order,
                            std::vector<SeriesRows>& series, const DataSettings& settings);

}  // namespace rnnlab
