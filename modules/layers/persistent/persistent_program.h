// SPDX-License-Identifier: Apache-2.0
// Which cells' programs the kernels of `persistent` run, and what the kernels' plans need to know of a program: kernels
// are compiled from a program's text (shared/program_cell.h). sLSTM alone has kernels that are written for it.
#pragma once

#include <string>
#include <vector>

#include "layers/persistent/shared/passes.h"
#include "layers/program/step_code.h"

namespace rnnlab {

// Returns why no kernel computes the program, such as "no gate reads the hidden state"; "" if one does.
std::string why_no_persistent_program(const CellProgram& program);

// Returns the description of a program that has kernels, by its code. It lives forever.
// has_starts: whether its kernels read which sequences start.
const kernels::PersistentProgram* persistent_program_of(const StepCode& code, bool has_starts);

// Returns the descriptions for the cells of the list that have kernels.
std::vector<const kernels::PersistentProgram*> listed_persistent_programs();

}  // namespace rnnlab
