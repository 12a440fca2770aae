// SPDX-License-Identifier: Apache-2.0
// Implements minLSTM (Feng et al. 2024, "Were RNNs All We Needed?", arXiv 2410.01201), whose gates read only the input
// and add up to 1, so that its single state has the same scale at every step:
//   i = sigmoid(W_i x + b_i)        f = sigmoid(W_f x + b_f)        n = g(W_n x + b_n)
//   h' = (f * h + i * n) / (f + i)
// `candidate` selects g. Three GEMMs a step. Rows of the parameters: i f n.
#include <ATen/ops/log_sigmoid.h>

#include "layers/cells/equations.h"

namespace rnnlab {
namespace {

class MinLstmEquations : public CellEquations {
 public:
  MinLstmEquations(const RecurrentOptions& options, CellWeights weights)
      : input_(weights, 0, options.hidden_size),
        forget_(weights, 1, options.hidden_size),
        candidate_(weights, 2, options.hidden_size),
        form_(options.candidate) {}

  // f / (f + i) is a sigmoid of log f - log i, which is finite even if both gates round to 0.
  CellStates step(const at::Tensor& x, const CellStates& states) const override {
    const at::Tensor log_ratio = at::log_sigmoid(forget_(x)) - at::log_sigmoid(input_(x));
    const at::Tensor n = candidate_of(form_, candidate_(x));
    return {at::sigmoid(log_ratio) * states[0] + at::sigmoid(-log_ratio) * n};
  }

 private:
  InputGate input_, forget_, candidate_;
  Candidate form_;
};

}  // namespace

const CellInfo& min_lstm_cell() {
  static const CellInfo info = {.description = "minLSTM, whose gates read the input alone",
                                .num_gates = 3,
                                .states = {"hidden"},
                                .options = {RecurrentOption::kCandidate},
                                .parameters = input_parameters,
                                .equations = make_equations<MinLstmEquations>};
  return info;
}

}  // namespace rnnlab
