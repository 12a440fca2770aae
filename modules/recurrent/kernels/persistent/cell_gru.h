// The point-wise part of a GRU with the reset gate after the product, as in cuDNN (Cho et al. 2014). The candidate's
// two products meet only there, so that their sums are two: R h + b in `sums`, W x + b beside them.
#pragma once

#include "recurrent/kernels/persistent/activations.h"
#include "recurrent/kernels/persistent/cells.h"
#include "recurrent/kernels/persistent/passes.h"

namespace rnnlab::kernels::persistent {

struct Gru : GruSizes {
  static constexpr bool kHasCellState = false;
  static constexpr bool kHasTwoSides = true;
  static constexpr bool kReadsStateAfter = false;

  __device__ explicit Gru(const PersistentSequence&) {}

  // aside: W x + b of n. hidden: the hidden state, carried from step to step.
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
    float gradient;  // what reaches the hidden state past the products
  };

  // gradients: of R h + b, out; aside: of W x + b of n, whose other rows are the same. before: the hidden state.
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

}  // namespace rnnlab::kernels::persistent
