// SPDX-License-Identifier: Apache-2.0
// What the settings say of a table's columns: the task, the outputs, and the columns that are inputs. Those that are
// hardly meant as inputs, such as the numbers of the rows, are refused unless data.features names them.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_settings.h"
#include "data/readers/csv.h"

namespace rnnlab {

// Returns whether a list of names of columns, such as data.known, has this one.
inline bool is_listed(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Returns the task of data.task. The default is regression for a series and classification for independent rows.
Task csv_task(const DataSettings& settings);

// Returns the names of the outputs for numbers: those of data.target, with the horizon if there are several: "OT+1".
std::vector<std::string> target_names(const DataSettings& settings);

// Returns the name of an input that has a column's values in the row that is so many rows later: "holiday+1".
std::string name_ahead(const std::string& column, int64_t horizon);

// A phase of the calendar is two inputs, "sin(hour)" and "cos(hour)": where a moment is on the circle of its period,
// whose end is beside its beginning.
inline constexpr std::array<std::string_view, 2> kCoordinates = {"sin", "cos"};
std::string name_of_phase(std::string_view coordinate, CalendarPhase phase);

// Returns by how many rows the inputs of data.calendar_ahead are later than their own (CalendarAhead), the most first;
// none without the key.
std::vector<int64_t> calendar_shifts(const DataSettings& settings);

// The input that data.gaps: mask adds: 1 for a row of the file, 0 for one that is inserted.
inline constexpr std::string_view kObserved = "observed";

// Returns the names of the inputs that data.known, data.calendar_ahead, data.calendar and data.gaps: mask add, in their
// order.
std::vector<std::string> derived_names(const DataSettings& settings);

// Returns a shape with its horizons, and where what is known of their rows is.
DataShape with_horizons(DataShape shape, const DataSettings& settings);

// Returns data.features, or the columns that are left. Adds a note to `notes` for a column that is left out. Throws
// UserError kData if no column is left, or one is hardly meant as an input. `task` is csv_task(settings).
std::vector<std::string> feature_names(const CsvTable& table, const DataSettings& settings, Task task,
                                       std::vector<std::string>& notes);

}  // namespace rnnlab
