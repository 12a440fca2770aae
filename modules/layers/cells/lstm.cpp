// SPDX-License-Identifier: Apache-2.0
// Implements long short-term memory (Hochreiter and Schmidhuber 1997) with the forget gate of Gers, Schmidhuber and
// Cummins 2000, without peepholes:
//   i = sigmoid(W_ii x + b_ii + W_hi h + b_hi)        f = sigmoid(W_if x + b_if + W_hf h + b_hf)
//   g =     act(W_ig x + b_ig + W_hg h + b_hg)        o = sigmoid(W_io x + b_io + W_ho h + b_ho)
//   c' = f * c + i * g                                h' = o * act(c')
// Eight GEMMs a step. act is tanh, or the value of `activation`.
#include "layers/cells/equations.h"

namespace rnnlab {
namespace {

class LstmEquations : public CellEquations {
 public:
  LstmEquations(const RecurrentOptions& options, CellWeights weights)
      : input_(weights, 0),
        forget_(weights, 1),
        candidate_(weights, 2),
        output_(weights, 3),
        activation_(options.activation) {}

  CellStates step(const at::Tensor& x, const CellStates& states) const override {
    const at::Tensor &h = states[0], &c = states[1];
    const at::Tensor i = at::sigmoid(input_(x, h));
    const at::Tensor f = at::sigmoid(forget_(x, h));
    const at::Tensor g = activate(activation_, candidate_(x, h));
    const at::Tensor o = at::sigmoid(output_(x, h));
    const at::Tensor new_c = f * c + i * g;
    return {o * activate(activation_, new_c), new_c};
  }

 private:
  Gate input_, forget_, candidate_, output_;
  Activation activation_;
};

}  // namespace

const CellInfo& lstm_cell() {
  static const CellInfo info = {.description = "long short-term memory with a forget gate",
                                .num_gates = 4,
                                .states = {"hidden", "cell"},
                                .options = {RecurrentOption::kActivation},
                                .library = LibraryCell::kLstm,
                                .parameters = library_parameters,
                                .equations = make_equations<LstmEquations>};
  return info;
}

}  // namespace rnnlab
