// SPDX-License-Identifier: Apache-2.0
// LSTM with peepholes (Gers, Schraudolph and Schmidhuber 2002, "Learning Precise Timing with LSTM Recurrent Networks").
// The input and forget gate also read the unit's old cell state, the output gate its new one.
#include "layers/cells/cell.h"

namespace rnnlab {

const CellInfo& lstm_peephole_cell() {
  static const CellInfo info = {.description = "LSTM whose gates see the cell state",
                                .states = {"hidden", "cell"},
                                .text = {.gates = {"i", "f", "g", "o"},
                                         .states = {"h", "c"},
                                         .equations = R"(
                                    i = sigmoid(i + peephole.i * c)
                                    f = sigmoid(f + peephole.f * c)
                                    g = ACTIVATION(g)
                                    c = f * c + i * g
                                    o = sigmoid(o + peephole.o * c)
                                    h = o * ACTIVATION(c))",
                                         .vectors = {{"peephole", {"i", "f", "o"}}}},
                                .options = {RecurrentOption::kActivation}};
  return info;
}

}  // namespace rnnlab
