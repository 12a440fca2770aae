// SPDX-License-Identifier: Apache-2.0
// What the settings say of a table's columns: the task, the outputs, and the columns that are inputs. Those that are
// hardly meant as inputs, such as the numbers of the rows, are refused unless data.features names them.
#pragma once

#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/readers/csv.h"

namespace rnnlab {

// Returns the task of data.task. The default is regression for a series and classification for independent rows.
Task csv_task(const DataSettings& settings);

// Returns the names of the outputs for numbers: those of data.target, with the horizon if there are several: "OT+1".
std::vector<std::string> target_names(const DataSettings& settings);

// Returns data.features, or the columns that are left. Adds a note to `notes` for a column that is left out. Throws
// UserError kData if no column is left, or one is hardly meant as an input. `task` is csv_task(settings).
std::vector<std::string> feature_names(const CsvTable& table, const DataSettings& settings, Task task,
                                       std::vector<std::string>& notes);

}  // namespace rnnlab
