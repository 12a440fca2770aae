// SPDX-License-Identifier: Apache-2.0
// Computes one step of one sequence, forward and backward, for each cell of the reference.
#pragma once

#include <array>

#include "layers/reference.h"

namespace rnnlab::reference {

using States = std::vector<Vector>;  // the hidden state, then the cell's other states in the order of its record

// Holds a step's inputs, results, and values for its backward pass.
struct Step {
  Vector x;
  States states;
  std::array<Vector, 4> gates;  // after their non-linearity, in the order of the weights
  Vector recurrent;             // GRU: the factor of the reset gate (after), or its product with the state (before)
  Vector activated_cell;        // LSTM: act(c')
  States new_states;
  double distance_to_kink = 1e300;
};

struct StepGradients {
  Vector x;
  States states;
};

Step step_forward(const RecurrentOptions& options, const Weights& weights, const Vector& x, const States& states);

// d_new: gradients of the new states. The gradients of the weights are added to `d_w`.
StepGradients step_backward(const RecurrentOptions& options, const Weights& weights, const Step& step,
                            const States& d_new, Weights& d_w);

}  // namespace rnnlab::reference
