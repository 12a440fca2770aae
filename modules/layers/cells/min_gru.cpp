// SPDX-License-Identifier: Apache-2.0
// Implements minGRU (Feng et al. 2024, "Were RNNs All We Needed?", arXiv 2410.01201), whose gates read only the input:
//   z = sigmoid(W_z x + b_z)        n = g(W_n x + b_n)        h' = (1 - z) * h + z * n
// `candidate` selects g. Two GEMMs a step. Rows of the parameters: z n.
#include "layers/cells/equations.h"

namespace rnnlab {
namespace {

class MinGruEquations : public CellEquations {
 public:
  MinGruEquations(const RecurrentOptions& options, CellWeights weights)
      : update_(weights, 0, options.hidden_size),
        candidate_(weights, 1, options.hidden_size),
        form_(options.candidate) {}

  CellStates step(const at::Tensor& x, const CellStates& states) const override {
    const at::Tensor z = at::sigmoid(update_(x));
    const at::Tensor n = candidate_of(form_, candidate_(x));
    return {(1 - z) * states[0] + z * n};
  }

 private:
  InputGate update_, candidate_;
  Candidate form_;
};

}  // namespace

const CellInfo& min_gru_cell() {
  static const CellInfo info = {.description = "minGRU, whose gate reads the input alone",
                                .num_gates = 2,
                                .states = {"hidden"},
                                .options = {RecurrentOption::kCandidate},
                                .parameters = input_parameters,
                                .equations = make_equations<MinGruEquations>};
  return info;
}

}  // namespace rnnlab
