// SPDX-License-Identifier: Apache-2.0
// Writes random equations, as a pure function of the seed, with every operation and every kind of leaf. Values stay
// finite: arguments of log, exp and divisions are bounded. Gates, states and vectors are all read.
#pragma once

#include <cstdint>

#include "layers/program/parse_cell.h"

namespace rnnlab {

CellText random_cell(uint64_t seed);

}  // namespace rnnlab
