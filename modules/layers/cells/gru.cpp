// SPDX-License-Identifier: Apache-2.0
// Gated recurrent unit (Cho et al. 2014, arXiv 1406.1078), in both forms of its reset gate: after the recurrent product
// (cuDNN's and PyTorch's form), or before it (the paper's form).
#include "layers/cells/cell.h"

namespace rnnlab {

const CellInfo& gru_cell() {
  static const CellInfo info = {.description = "gated recurrent unit",
                                .states = {"hidden"},
                                .text = {.gates = {"r", "z", "n"}, .states = {"h"}, .equations = R"(
                                    r = sigmoid(r)
                                    z = sigmoid(z)
                                    n = ACTIVATION(x.n + RESET_PRODUCT)
                                    h = (1 - z) * n + z * h)"},
                                .options = {RecurrentOption::kResetGate, RecurrentOption::kActivation},
                                .library = LibraryCell::kGru};
  return info;
}

}  // namespace rnnlab
