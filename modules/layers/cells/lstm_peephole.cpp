// SPDX-License-Identifier: Apache-2.0
// Implements the LSTM with peepholes (Gers, Schraudolph and Schmidhuber 2002, "Learning Precise Timing with LSTM
// Recurrent Networks"). Each unit's gates also read the unit's cell state: the input and forget gate read the old
// state, the output gate reads the new state:
//   i = sigmoid(W_ii x + b_ii + W_hi h + b_hi + p_i * c)        g = act(W_ig x + b_ig + W_hg h + b_hg)
//   f = sigmoid(W_if x + b_if + W_hf h + b_hf + p_f * c)        c' = f * c + i * g
//   o = sigmoid(W_io x + b_io + W_ho h + b_ho + p_o * c')       h' = o * act(c')
// Eight GEMMs a step. act is tanh, or the value of `activation`. `peephole` (3 * H) has the rows i f o.
#include "layers/cells/equations.h"

namespace rnnlab {
namespace {

class PeepholeLstmEquations : public CellEquations {
 public:
  PeepholeLstmEquations(const RecurrentOptions& options, CellWeights weights)
      : input_(weights, 0),
        forget_(weights, 1),
        candidate_(weights, 2),
        output_(weights, 3),
        peepholes_(weights[4].chunk(3)),
        activation_(options.activation) {}

  CellStates step(const at::Tensor& x, const CellStates& states) const override {
    const at::Tensor &h = states[0], &c = states[1];
    const at::Tensor i = at::sigmoid(input_(x, h) + peepholes_[0] * c);
    const at::Tensor f = at::sigmoid(forget_(x, h) + peepholes_[1] * c);
    const at::Tensor g = activate(activation_, candidate_(x, h));
    const at::Tensor new_c = f * c + i * g;
    const at::Tensor o = at::sigmoid(output_(x, h) + peepholes_[2] * new_c);
    return {o * activate(activation_, new_c), new_c};
  }

 private:
  Gate input_, forget_, candidate_, output_;
  std::vector<at::Tensor> peepholes_;
  Activation activation_;
};

std::vector<ParameterSpec> peephole_parameters(const RecurrentOptions& options, int64_t num_inputs) {
  std::vector<ParameterSpec> specs = library_parameters(options, num_inputs);
  specs.push_back({"peephole", {3 * options.hidden_size}});
  return specs;
}

}  // namespace

const CellInfo& lstm_peephole_cell() {
  static const CellInfo info = {.description = "LSTM whose gates see the cell state",
                                .num_gates = 4,
                                .states = {"hidden", "cell"},
                                .options = {RecurrentOption::kActivation},
                                .parameters = peephole_parameters,
                                .equations = make_equations<PeepholeLstmEquations>};
  return info;
}

}  // namespace rnnlab
