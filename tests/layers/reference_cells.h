// SPDX-License-Identifier: Apache-2.0
// Computes one step of one sequence, forward and backward, for every cell: products in plain loops, and the cell's
// equations by dual numbers.
#pragma once

#include "layers/program/dual_numbers.h"
#include "layers/reference.h"

namespace rnnlab::reference {

using States = std::vector<Vector>;  // the hidden state, then the cell's other states in the order of its record

// Holds a step's inputs, results, and values for its backward pass.
struct Step {
  Vector x;
  States states;
  std::vector<UnitStep> units;
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
