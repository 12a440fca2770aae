// SPDX-License-Identifier: Apache-2.0
// Bounds of a cell's hidden state, by interval arithmetic on its equations (Moore, Interval Analysis, 1966). Kernels
// whose products take numbers of a small range ask for them.
#pragma once

#include "layers/program/cell_program.h"

namespace rnnlab {

// Returns whether the equations alone keep the hidden state within [-1, 1]: for any sums of the gates, any vectors and
// any other states. False if that cannot be shown.
bool stays_within_one(const CellProgram& program);

}  // namespace rnnlab
