// SPDX-License-Identifier: Apache-2.0
// The point-wise part of sLSTM with heads (Beck et al. 2024), which carries more numbers from step to step than the
// cells that kernels compute from their programs. It has the members that program_cell.h explains.
#pragma once

#include "layers/persistent/shared/numbers.h"
#include "layers/persistent/shared/passes.h"
#include "layers/persistent/shared/sizes.h"
#include "layers/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

// Its equations are in cells/slstm.cpp. The result does not depend on the stabilizer, so the backward pass treats it as
// a constant, and only carries on what is left of a gradient that the last states have of their own.
struct Slstm : SlstmSizes {
  static constexpr bool kHasCellState = true;
  static constexpr bool kHasTwoSides = false;
  static constexpr bool kReadsStateAfter = false;
  static constexpr bool kCarriesHidden = false;
  static constexpr bool kHasHeads = true;
  static constexpr bool kMaySpoilOthers = false;
  static constexpr bool kHasStarts = false;

  struct State {
    float cell, normalizer, stabilizer;
  };

  template <class Functions>
  __device__ float forward(const float (&sums)[kGates], float, const UnitVectors<Slstm>&, State& state,
                           float (&kept)[kKept]) const {
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
  __device__ void backward(const float (&kept)[kKept], const State& before, bool, float hidden, float,
                           const UnitVectors<Slstm>&, Carried& carried, float (&gradients)[kGates], float&,
                           UnitVectors<Slstm>&) const {
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
