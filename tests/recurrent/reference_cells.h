// One step of one sequence, forward and backward, for each cell of the reference.
#pragma once

#include <array>

#include "recurrent/reference.h"

namespace rnnlab::reference {

// A step's inputs, results, and what its backward pass needs.
struct Step {
  Vector x, h, c;
  std::array<Vector, 4> gates;  // after their non-linearity, in the order of the weights
  Vector recurrent;             // GRU: what the reset gate multiplies (after), or its product with the state (before)
  Vector activated_cell;        // LSTM: act(c')
  Vector new_h, new_c;
  double distance_to_kink = 1e300;
};

struct StepGradients {
  Vector x, h, c;
};

Step step_forward(const RecurrentOptions& options, const Weights& weights, const Vector& x, const Vector& h,
                  const Vector& c);

// Adds to `weight_gradients`.
StepGradients step_backward(const RecurrentOptions& options, const Weights& weights, const Step& step,
                            const Vector& d_new_h, const Vector& d_new_c, Weights& weight_gradients);

}  // namespace rnnlab::reference
