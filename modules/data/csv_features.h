// SPDX-License-Identifier: Apache-2.0
// The columns of a table that are inputs. Those that are hardly meant as inputs, such as the numbers of the rows, are
// refused unless data.features names them.
#pragma once

#include <string>
#include <vector>

#include "data/data_settings.h"
#include "data/readers/csv.h"

namespace rnnlab {

// Returns data.features, or the columns that are left. Adds a note to `notes` for a column that is left out. Throws
// UserError kData if no column is left, or one is hardly meant as an input. `task` is csv_task(settings).
std::vector<std::string> feature_names(const Table& table, const DataSettings& settings, Task task,
                                       std::vector<std::string>& notes);

}  // namespace rnnlab
