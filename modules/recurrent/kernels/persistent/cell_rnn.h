// The point-wise part of a plain recurrent cell, tanh or relu (Elman 1990). Nothing is kept but the hidden state.
#pragma once

#include "recurrent/kernels/persistent/activations.h"
#include "recurrent/kernels/persistent/cells.h"
#include "recurrent/kernels/persistent/passes.h"

namespace rnnlab::kernels::persistent {

struct Rnn : RnnSizes {
  static constexpr bool kHasCellState = false;
  static constexpr bool kHasTwoSides = false;
  static constexpr bool kReadsStateAfter = true;

  __device__ explicit Rnn(const PersistentSequence& sequence) : is_relu(sequence.nonlinearity == Nonlinearity::kRelu) {}

  template <class Functions>
  __device__ float forward(const float (&sums)[kGates], float, float&, float*) const {
    const float of_relu = sums[0] < 0.0f ? 0.0f : sums[0];  // NaN stays NaN
    return is_relu ? of_relu : Functions::tanh(sums[0]);
  }

  struct Carried {};

  // after: the hidden state after the step.
  template <class Functions>
  __device__ void backward(const float*, float after, float hidden, float, Carried&, float (&gradients)[kGates],
                           float&) const {
    const float relu_slope = after > 0.0f ? 1.0f : 0.0f;
    gradients[0] = hidden * (is_relu ? relu_slope : tanh_slope(after));
  }

  __device__ static float hidden_gradient_of(const Carried&) { return 0.0f; }

  bool is_relu;
};

}  // namespace rnnlab::kernels::persistent
