// SPDX-License-Identifier: Apache-2.0
// Reads how the operators name a cell: as one text, which torch.compile and exported programs can hold. It is the name
// of a cell of the list, or a map in YAML with the keys that `model:` of an experiment has for the cell:
//
//   {cell: gru, reset_gate: before}
//   {cell: {gates: [n], states: [h], equations: "h = tanh(n)"}}
//
// The file also registers the operators with which Python asks about cells: torch.ops.rnnlab.read_cell and others.
#pragma once

#include <string_view>

#include "layers/recurrent_options.h"

namespace rnnlab::operators {

// Returns options with the cell and its options, and with the defaults of all others. Each text is read once in a
// process. Throws UserError with all mistakes. Thread-safe.
RecurrentOptions options_of_cell(std::string_view spec);

}  // namespace rnnlab::operators
