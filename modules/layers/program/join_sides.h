// SPDX-License-Identifier: Apache-2.0
// Brings a parsed program to its final form: only the nodes that it needs, and a single leaf, kGate, for the sum of a
// gate's sides if the sides are read nowhere else. A schedule may then add both products before the program reads them.
#pragma once

#include "layers/program/cell_program.h"

namespace rnnlab {

CellProgram with_joined_sides(const CellProgram& program);

}  // namespace rnnlab
