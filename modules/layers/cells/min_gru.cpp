// SPDX-License-Identifier: Apache-2.0
// minGRU (Feng et al. 2024, "Were RNNs All We Needed?", arXiv 2410.01201), whose gates read only the input.
#include "layers/cells/cell.h"

namespace rnnlab {

const CellInfo& min_gru_cell() {
  static const CellInfo info = {.description = "minGRU, whose gate reads the input alone",
                                .states = {"hidden"},
                                .text = {.gates = {"z", "n"}, .states = {"h"}, .equations = R"(
                                    z = sigmoid(x.z)
                                    h = (1 - z) * h + z * CANDIDATE)"},
                                .options = {RecurrentOption::kCandidate}};
  return info;
}

}  // namespace rnnlab
