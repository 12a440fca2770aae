// SPDX-License-Identifier: Apache-2.0
// Columns of a table that number its rows, such as the index that a data frame writes into its first column. A model
// that sees such a number can learn the order of the file.
#pragma once

#include <cstdint>

#include "data/readers/csv.h"

namespace rnnlab {

// Returns whether the header of the table has no name for the column.
bool is_unnamed(const CsvTable& table, int64_t column);

// Returns whether no row has a value in the column, and the header no name: what a delimiter at the end of each line
// makes.
bool is_after_last_delimiter(const CsvTable& table, int64_t column);

// Returns whether the column numbers the rows: different integers under the name of an index or without a name, or
// under any name 0, 1, 2 ... or 1, 2, 3 ... over all of at least twenty rows, up or down.
bool numbers_rows(const CsvTable& table, int64_t column);

}  // namespace rnnlab
