// SPDX-License-Identifier: Apache-2.0
// The point-wise part of the cells: LSTM (Gers, Schmidhuber and Cummins 2000), GRU with the reset gate after the
// product, as in cuDNN (Cho et al. 2014), and the plain cell with tanh or relu (Elman 1990). A kernel asks every cell
// for the same members, which Lstm explains. Left out: products, and reading and writing of states.
#pragma once

#include "recurrent/kernels/persistent/shared/numbers.h"
#include "recurrent/kernels/persistent/shared/passes.h"
#include "recurrent/kernels/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

struct Lstm : LstmSizes {
  // These state whether the backward pass reads cell states instead of hidden states, whether W x + b and R h + b have
  // different gradients, and whether the backward pass reads the state after a step instead of the state before it.
  static constexpr bool kHasCellState = true;
  static constexpr bool kHasTwoSides = false;
  static constexpr bool kReadsStateAfter = false;

  __device__ explicit Lstm(const PersistentSequence&) {}

  // Returns the hidden state. sums: the gates before activation. cell: the cell state, carried from step to step. kept:
  // out, what the backward pass needs. The unnamed argument is `aside` of Gru.
  template <class Functions>
  __device__ float forward(const float (&sums)[kGates], float, float& cell, float (&kept)[kKept]) const {
    kept[0] = Functions::sigmoid(sums[0]);
    kept[1] = Functions::sigmoid(sums[1]);
    kept[2] = Functions::tanh(sums[2]);
    kept[3] = Functions::sigmoid(sums[3]);
    cell = kept[1] * cell + kept[0] * kept[2];
    return kept[3] * Functions::tanh(cell);
  }

  // Holds the values that the backward pass carries from step to step.
  struct Carried {
    float cell;      // the cell state after the current step
    float gradient;  // the gradient of that state from the steps after the current one
  };

  // gradients: out, of the sums. before: the cell state before the step. hidden, cell: gradients of the hidden and the
  // cell state as results.
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

  // The part of the gradient of the previous hidden state that is not a product.
  __device__ static float hidden_gradient_of(const Carried&) { return 0.0f; }
};

// The two products of the candidate meet only in the activation: R h + b is in `sums`, W x + b in `aside`.
struct Gru : GruSizes {
  static constexpr bool kHasCellState = false;
  static constexpr bool kHasTwoSides = true;
  static constexpr bool kReadsStateAfter = false;

  __device__ explicit Gru(const PersistentSequence&) {}

  // aside: W x + b of the candidate n. hidden: the hidden state, carried from step to step.
  template <class Functions>
  __device__ float forward(const float (&sums)[kGates], float aside, float& hidden, float (&kept)[kKept]) const {
    kept[0] = Functions::sigmoid(sums[0]);
    kept[1] = Functions::sigmoid(sums[1]);
    kept[2] = Functions::tanh(aside + kept[0] * sums[2]);
    kept[3] = sums[2];
    hidden = kept[2] + kept[1] * (hidden - kept[2]);
    return hidden;
  }

  struct Carried {
    float gradient;  // as hidden_gradient_of returns it
  };

  // gradients: out, of R h + b. aside: out, of W x + b of the candidate; the other gates have one gradient for both.
  // before: the hidden state before the step.
  template <class Functions>
  __device__ void backward(const float (&kept)[kKept], float before, float hidden, float, Carried& carried,
                           float (&gradients)[kGates], float& aside) const {
    const auto& [reset, update, candidate, recurrent] = kept;
    aside = hidden * (1.0f - update) * tanh_slope(candidate);
    gradients[0] = aside * recurrent * sigmoid_slope(reset);
    gradients[1] = hidden * (before - candidate) * sigmoid_slope(update);
    gradients[2] = aside * reset;
    carried.gradient = hidden * update;
  }

  __device__ static float hidden_gradient_of(const Carried& carried) { return carried.gradient; }
};

// Only the hidden state is kept for the backward pass.
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
