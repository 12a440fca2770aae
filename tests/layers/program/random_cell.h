// SPDX-License-Identifier: Apache-2.0
// Writes random equations, as a pure function of the seed, with every operation and every kind of leaf. Values stay
// finite: arguments of log, exp and divisions are bounded. Gates, states and vectors are all read.
#pragma once

#include <cstdint>

#include "layers/program/parse_cell.h"

namespace rnnlab {

CellText random_cell(uint64_t seed);

// Likewise without products of the hidden state: each reading of one is replaced by the state itself.
CellText random_cell_of_units(uint64_t seed);

// Likewise with one product for each gate, of which only the last may have its sides apart, and with the hidden state
// read by products alone if there is another state.
CellText random_cell_of_sums(uint64_t seed);

}  // namespace rnnlab
