// SPDX-License-Identifier: Apache-2.0
// Implements the gated recurrent unit (Cho et al. 2014, arXiv 1406.1078), in both forms of its reset gate:
//   r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)        z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
//   after:   n = act(W_in x + b_in + r * (W_hn h + b_hn))      cuDNN's and PyTorch's form
//   before:  n = act(W_in x + b_in + W_hn (r * h) + b_hn)      the paper's form
//   h' = (1 - z) * n + z * h
// Six GEMMs a step. act is tanh, or the value of `activation`.
#include "layers/cells/equations.h"

namespace rnnlab {
namespace {

class GruEquations : public CellEquations {
 public:
  GruEquations(const RecurrentOptions& options, CellWeights weights)
      : reset_(weights, 0),
        update_(weights, 1),
        candidate_(weights, 2),
        activation_(options.activation),
        reset_gate_(options.reset_gate) {}

  CellStates step(const at::Tensor& x, const CellStates& states) const override {
    const at::Tensor& h = states[0];
    const at::Tensor r = at::sigmoid(reset_(x, h));
    const at::Tensor z = at::sigmoid(update_(x, h));
    const at::Tensor n = activate(activation_, candidate_.of_input(x) + reset_product(r, h));
    return {(1 - z) * n + z * h};
  }

 private:
  at::Tensor reset_product(const at::Tensor& r, const at::Tensor& h) const {
    switch (reset_gate_) {
      case ResetGate::kAfter:
        return r * candidate_.of_hidden(h);
      case ResetGate::kBefore:
        return candidate_.of_hidden(r * h);
    }
    fail_invariant("a listed reset gate", __FILE__, __LINE__, "gru does not know the reset gate");
  }

  Gate reset_, update_, candidate_;
  Activation activation_;
  ResetGate reset_gate_;
};

}  // namespace

const CellInfo& gru_cell() {
  static const CellInfo info = {.description = "gated recurrent unit",
                                .num_gates = 3,
                                .states = {"hidden"},
                                .options = {RecurrentOption::kResetGate, RecurrentOption::kActivation},
                                .library = LibraryCell::kGru,
                                .parameters = library_parameters,
                                .equations = make_equations<GruEquations>};
  return info;
}

}  // namespace rnnlab
