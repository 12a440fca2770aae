// SPDX-License-Identifier: Apache-2.0
// Long short-term memory (Hochreiter and Schmidhuber 1997) with the forget gate of Gers, Schmidhuber and Cummins 2000,
// without peepholes.
#include "layers/cells/cell.h"

namespace rnnlab {

const CellInfo& lstm_cell() {
  static const CellInfo info = {.description = "long short-term memory with a forget gate",
                                .states = {"hidden", "cell"},
                                .text = {.gates = {"i", "f", "g", "o"}, .states = {"h", "c"}, .equations = R"(
                                    i = sigmoid(i)
                                    f = sigmoid(f)
                                    g = ACTIVATION(g)
                                    o = sigmoid(o)
                                    c = f * c + i * g
                                    h = o * ACTIVATION(c))"},
                                .options = {RecurrentOption::kActivation},
                                .library = LibraryCell::kLstm};
  return info;
}

}  // namespace rnnlab
