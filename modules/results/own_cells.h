// SPDX-License-Identifier: Apache-2.0
// Compares cells that users wrote as equations. The equations of one cell may have different names of values and
// different orders of operands, so runs of equal work may have different settings below `model.cell`.
#pragma once

#include <string_view>
#include <vector>

#include "results/run_record.h"

namespace rnnlab {

// Replaces the equations of each run by one setting: `model.cell` is then the cell's name, equal in runs of one cell
// and different in runs of two cells ("mgu", or "mgu (1b2c3d4e)" if another cell has this name, too). A run with the
// equations of a cell that another run names has that name. The hash of the model's settings follows, and the equations
// are in RunRecord::own_cell.
//
// Two runs have one cell if their hashes of its program are equal (Identity::cell_sha256), or their settings are,
// because earlier versions did not record the hash.
void name_own_cells(std::vector<RunRecord>& runs);

// Returns whether the setting is an option that changes the equations of a named cell: a difference in it is one of the
// cell. A test of the module runs holds this equal to the options of cells.
bool is_option_of_cell(std::string_view key);

}  // namespace rnnlab
