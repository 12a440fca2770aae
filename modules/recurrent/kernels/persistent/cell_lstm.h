// The point-wise part of an LSTM, as the kernels ask for it of every cell (Gers, Schmidhuber and Cummins 2000).
#pragma once

#include "recurrent/kernels/persistent/activations.h"
#include "recurrent/kernels/persistent/cells.h"
#include "recurrent/kernels/persistent/passes.h"

namespace rnnlab::kernels::persistent {

struct Lstm : LstmSizes {
  static constexpr bool kHasCellState = true;  // the cell state is kept too, and what the backward pass reads
  static constexpr bool kHasTwoSides = false;  // the gradients of W x + b and R h + b are the same
  static constexpr bool kReadsStateAfter = false;

  __device__ explicit Lstm(const PersistentSequence&) {}

  // The hidden state. sums: of the gates before activation. cell: the cell state, carried from step to step.
  template <class Functions>
  __device__ float forward(const float (&sums)[kGates], float, float& cell, float (&kept)[kKept]) const {
    kept[0] = Functions::sigmoid(sums[0]);
    kept[1] = Functions::sigmoid(sums[1]);
    kept[2] = Functions::tanh(sums[2]);
    kept[3] = Functions::sigmoid(sums[3]);
    cell = kept[1] * cell + kept[0] * kept[2];
    return kept[3] * Functions::tanh(cell);
  }

  // What the backward pass carries from step to step.
  struct Carried {
    float cell;      // after the step at hand
    float gradient;  // of that, from the steps behind it
  };

  // gradients: of the sums, out. before: the cell state before the step. hidden, cell: gradients of the results.
  template <class Functions>
  __device__ void backward(const float (&kept)[kKept], float before, float hidden, float cell, Carried& carried,
                           float (&gradients)[kGates], float&) const {
    const auto& [input, forget, candidate, output] = kept;
    const float activated = Functions::tanh(carried.cell);
    const float total = carried.gradient + cell + hidden * output * tanh_slope(activated);
    gradients[0] = total * candidate * sigmoid_slope(input);
    gradients[1] = total * before * sigmoid_slope(forget);
    gradients[2] = total * input * tanh_slope(candidate);
    gradients[3] = hidden * activated * sigmoid_slope(output);
    carried = {before, total * forget};
  }

  // What reaches the hidden state of the step before past the products.
  __device__ static float hidden_gradient_of(const Carried&) { return 0.0f; }
};

}  // namespace rnnlab::kernels::persistent
