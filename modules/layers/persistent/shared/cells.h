// SPDX-License-Identifier: Apache-2.0
// The point-wise part of the cells: LSTM (Gers, Schmidhuber and Cummins 2000), GRU with the reset gate after the
// product, as in cuDNN (Cho et al. 2014), the plain cell with tanh or relu (Elman 1990), and sLSTM with heads (Beck et
// al. 2024). A kernel asks every cell for the same members, which Lstm explains. Left out: products, and reading and
// writing of states.
#pragma once

#include "layers/persistent/shared/numbers.h"
#include "layers/persistent/shared/passes.h"
#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

struct Lstm : LstmSizes {
  // These state whether the backward pass reads cell states instead of hidden states, whether W x + b and R h + b have
  // different gradients, whether the backward pass reads the state after a step instead of the state before it, and
  // whether the units are divided into heads.
  static constexpr bool kHasCellState = true;
  static constexpr bool kHasTwoSides = false;
  static constexpr bool kReadsStateAfter = false;
  static constexpr bool kHasHeads = false;

  // The state of a unit that is carried from step to step: the cell state, or the hidden state of a cell that has none.
  using State = float;

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

  // From the last state and its gradient, and to the gradient of the initial state.
  __device__ static Carried carried_from(State last, State gradient) { return {last, gradient}; }
  __device__ static State initial_gradient(const Carried& carried) { return carried.gradient; }

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
  static constexpr bool kHasHeads = false;

  using State = float;

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
  static constexpr bool kHasHeads = false;

  using State = float;

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

// Its equations are in cells/slstm.cpp. The result does not depend on the stabilizer, so the backward pass treats it as
// a constant, and only carries on what is left of a gradient that the last states have of their own.
struct Slstm : SlstmSizes {
  static constexpr bool kHasCellState = true;
  static constexpr bool kHasTwoSides = false;
  static constexpr bool kReadsStateAfter = false;
  static constexpr bool kHasHeads = true;

  struct State {
    float cell, normalizer, stabilizer;
  };

  __device__ explicit Slstm(const PersistentSequence&) {}

  template <class Functions>
  __device__ float forward(const float (&sums)[kGates], float, State& state, float (&kept)[kKept]) const {
    using Exact = ByExponential;
    const float power = Exact::exp(-fabsf(sums[1]));
    const float of_opposite = Exact::reciprocal(1.0f + power);
    kept[4] = sums[1] > 0.0f ? power * of_opposite : of_opposite;
    const float log_forget = fminf(sums[1], 0.0f) - 0.69314718f * Exact::log2_of(1.0f + power);
    const float decayed = log_forget + (state.normalizer == 0.0f ? minus_infinity() : state.stabilizer);
    const float stabilizer = fmaxf(decayed, sums[0]);
    kept[0] = Exact::exp(sums[0] - stabilizer);
    kept[1] = Exact::exp(decayed - stabilizer);
    kept[2] = Functions::tanh(sums[2]);
    kept[3] = Functions::sigmoid(sums[3]);
    state.cell = kept[1] * state.cell + kept[0] * kept[2];
    state.normalizer = kept[1] * state.normalizer + kept[0];
    state.stabilizer = stabilizer;
    return kept[3] * state.cell * Exact::reciprocal(state.normalizer);
  }

  struct Carried {
    float cell, normalizer;  // after the current step
    float cell_gradient, normalizer_gradient;
    // The gradient of the stabilizer, beyond what cell and normalizer explain. It is 0 if the loss reads only hidden
    // states, and belongs to the gate that was the larger one.
    float rest;
  };

  __device__ static Carried carried_from(const State& last, const State& gradient) {
    const float explained = gradient.cell * last.cell + gradient.normalizer * last.normalizer;
    return {last.cell, last.normalizer, gradient.cell, gradient.normalizer, gradient.stabilizer - explained};
  }
  __device__ static State initial_gradient(const Carried& carried) {
    const float explained = carried.cell_gradient * carried.cell + carried.normalizer_gradient * carried.normalizer;
    return {carried.cell_gradient, carried.normalizer_gradient, carried.rest + explained};
  }

  template <class Functions>
  __device__ void backward(const float (&kept)[kKept], const State& before, float hidden, float, Carried& carried,
                           float (&gradients)[kGates], float&) const {
    const auto& [input, forget, candidate, output, forget_slope] = kept;
    // Only a unit that does not exist has no normalizer.
    const float inverse = carried.normalizer == 0.0f ? 0.0f : ByExponential::reciprocal(carried.normalizer);
    const float ratio = carried.cell * inverse;
    const float of_ratio = hidden * output * inverse;
    const float cell = carried.cell_gradient + of_ratio;
    const float normalizer = carried.normalizer_gradient - of_ratio * ratio;
    const bool is_of_input = input == 1.0f;
    const float of_forget = forget * (cell * before.cell + normalizer * before.normalizer);
    gradients[0] = input * (cell * candidate + normalizer) + (is_of_input ? carried.rest : 0.0f);
    gradients[1] = (of_forget + (is_of_input ? 0.0f : carried.rest)) * forget_slope;
    gradients[2] = cell * input * tanh_slope(candidate);
    gradients[3] = hidden * ratio * sigmoid_slope(output);
    carried = {before.cell, before.normalizer, cell * forget, normalizer * forget, is_of_input ? 0.0f : carried.rest};
  }

  __device__ static float hidden_gradient_of(const Carried&) { return 0.0f; }
};

}  // namespace rnnlab::kernels::persistent
