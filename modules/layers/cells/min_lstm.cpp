// SPDX-License-Identifier: Apache-2.0
// minLSTM (Feng et al. 2024, "Were RNNs All We Needed?", arXiv 2410.01201): h' = (f * h + i * n) / (f + i), whose gates
// read only the input. f / (f + i) is a sigmoid of log f - log i, which is finite even if both gates round to 0.
#include "layers/cells/cell.h"

namespace rnnlab {

const CellInfo& min_lstm_cell() {
  static const CellInfo info = {.description = "minLSTM, whose gates read the input alone",
                                .states = {"hidden"},
                                .text = {.gates = {"i", "f", "n"}, .states = {"h"}, .equations = R"(
                                    d = log_sigmoid(x.f) - log_sigmoid(x.i)
                                    h = sigmoid(d) * h + sigmoid(-d) * CANDIDATE)"},
                                .options = {RecurrentOption::kCandidate}};
  return info;
}

}  // namespace rnnlab
