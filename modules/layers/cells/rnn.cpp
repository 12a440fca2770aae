// SPDX-License-Identifier: Apache-2.0
// Implements the simple recurrent network (Elman 1990), as two cells that differ in their activation:
//   h' = act(W_i x + b_i + W_h h + b_h)
// Two GEMMs a step. act is tanh or relu, according to the cell's name.
#include "layers/cells/equations.h"

namespace rnnlab {
namespace {

template <Activation kActivation>
class RnnEquations : public CellEquations {
 public:
  RnnEquations(const RecurrentOptions& /*options*/, CellWeights weights) : sum_(weights, 0) {}

  CellStates step(const at::Tensor& x, const CellStates& states) const override {
    return {activate(kActivation, sum_(x, states[0]))};
  }

 private:
  Gate sum_;
};

}  // namespace

const CellInfo& rnn_tanh_cell() {
  static const CellInfo info = {.description = "simple recurrent network with tanh",
                                .num_gates = 1,
                                .states = {"hidden"},
                                .library = LibraryCell::kRnnTanh,
                                .parameters = library_parameters,
                                .equations = make_equations<RnnEquations<Activation::kTanh>>};
  return info;
}

const CellInfo& rnn_relu_cell() {
  static const CellInfo info = {.description = "simple recurrent network with ReLU",
                                .num_gates = 1,
                                .states = {"hidden"},
                                .library = LibraryCell::kRnnRelu,
                                .parameters = library_parameters,
                                .equations = make_equations<RnnEquations<Activation::kRelu>>};
  return info;
}

}  // namespace rnnlab
