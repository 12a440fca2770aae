// SPDX-License-Identifier: Apache-2.0
// The simple recurrent network (Elman 1990), as two cells that differ in their activation.
#include "layers/cells/cell.h"

namespace rnnlab {

const CellInfo& rnn_tanh_cell() {
  static const CellInfo info = {.description = "simple recurrent network with tanh",
                                .states = {"hidden"},
                                .text = {.gates = {"n"}, .states = {"h"}, .equations = "h = tanh(n)"},
                                .library = LibraryCell::kRnnTanh};
  return info;
}

const CellInfo& rnn_relu_cell() {
  static const CellInfo info = {.description = "simple recurrent network with ReLU",
                                .states = {"hidden"},
                                .text = {.gates = {"n"}, .states = {"h"}, .equations = "h = relu(n)"},
                                .library = LibraryCell::kRnnRelu};
  return info;
}

}  // namespace rnnlab
