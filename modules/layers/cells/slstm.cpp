// SPDX-License-Identifier: Apache-2.0
// sLSTM (Beck et al. 2024, "xLSTM: Extended Long Short-Term Memory", arXiv 2405.04517, section 2.2), with exponential
// gates, a normalizer n and a stabilizer m, which cancels out of h and only keeps the exponentials finite. If n is 0,
// no step was read yet: m then counts as -infinity, so that the forget gate is 0. That gate is the paper's sigmoid
// form, as in the authors' program. The recurrent products are divided into `heads`.
#include "layers/cells/cell.h"

namespace rnnlab {

const CellInfo& slstm_cell() {
  static const CellInfo info = {.description = "sLSTM of xLSTM, with exponential gates and heads",
                                .states = {"hidden", "cell", "normalizer", "stabilizer"},
                                .text = {.gates = {"i", "f", "z", "o"},
                                         .states = {"h", "c", "n", "m"},
                                         .equations = R"(
                                    d = log_sigmoid(f) + where(n == 0, -inf, m)
                                    m = max(d, i)
                                    a = exp(i - m)
                                    b = exp(d - m)
                                    c = b * c + a * tanh(z)
                                    n = b * n + a
                                    h = sigmoid(o) * c / n)",
                                         .biases = Biases::kOne,
                                         .has_heads = true},
                                .options = {RecurrentOption::kHeads}};
  return info;
}

}  // namespace rnnlab
