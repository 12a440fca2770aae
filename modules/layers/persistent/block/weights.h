// SPDX-License-Identifier: Apache-2.0
// The recurrent weights of a block kernel: which of them a fragment has (shared/fragments.h), and the products of a
// warp's part with the vectors of the group, forward and backward.
#pragma once

#include "layers/persistent/block/tiles.h"
#include "layers/persistent/shared/fragments.h"

namespace rnnlab::kernels::persistent {

// Holds two products of fragments with the same right operand, for one thread: its two units in two columns each.
struct TwoProducts {
  float even[1][4] = {};  // right in the even columns
  float odd[1][4] = {};   // right in the odd columns

  // The sum of both products for a sequence. half: which of the two units.
  __device__ float sum(int half) const { return even[0][2 * half] + odd[0][2 * half + 1]; }
};

// Reads two words of each part; the parts are `stride` words apart.
template <class T>
__device__ Vectors16<T> read_words(const uint32_t* place, int stride) {
  Vectors16<T> words;
#pragma unroll
  for (int part = 0; part < T::kParts; ++part) {
    const uint2 both = *reinterpret_cast<const uint2*>(place + part * stride);
    words.low[part][0] = both.x;
    words.high[part][0] = both.y;
  }
  return words;
}

// products: in and out, of the 16 units of the warp for each gate. hidden: parts by kColumnSteps by 32 lanes by two
// words, from this lane's place on.
template <class T>
__device__ void multiply_hidden(WeightSlice<typename T::ForwardSlice>& weights, const uint32_t* hidden,
                                TwoProducts (&products)[T::kGates]) {
  int next = 0;
#pragma unroll
  for (int column = 0; column < T::kColumnSteps; ++column) {
    const Vectors16<T> words = read_words<T>(hidden + column * 2 * kLanes, T::kColumnSteps * 2 * kLanes);
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate) {
      multiply<T>(Weights16<T>(weights, next), words, products[gate].even);
      multiply<T>(Weights16<T>(weights, next), words, products[gate].odd);
    }
  }
}

// sums: out, the gradients of the hidden states of the two units of this thread. gates: for each warp, parts by 32
// lanes by kPairs by two words, from this lane's place on. unscales: what the products with the gradients of each warp
// are multiplied by, if they are scaled.
template <class T>
__device__ void multiply_gates(WeightSlice<typename T::BackwardSlice>& weights, const uint32_t* gates,
                               const float* unscales, float (&sums)[2]) {
  TwoProducts chains[2];  // more of them would be added up for longer, and one alone waits for each of its products
  sums[0] = sums[1] = 0.0f;
  int next = 0;
#pragma unroll
  for (int warp = 0; warp < T::kWarps; ++warp, gates += T::kGateWords / T::kWarps) {
    TwoProducts of_warp;
    TwoProducts& products = T::Numbers::kIsScaled ? of_warp : chains[warp % 2];
    Vectors16<T> words;
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate) {
      if (gate % 2 == 0) words = read_words<T>(gates + gate, T::kPairs * 2 * kLanes);
      multiply<T>(Weights16<T>(weights, next), words, gate % 2 == 0 ? products.even : products.odd);
    }
    if constexpr (T::Numbers::kIsScaled)
      for (int half = 0; half < 2; ++half) sums[half] += of_warp.sum(half) * unscales[warp];
  }
  if constexpr (!T::Numbers::kIsScaled)
    for (int half = 0; half < 2; ++half) sums[half] = chains[0].sum(half) + chains[1].sum(half);
}

// Packing: which element of the weights a number of a fragment is.

// The 32 units of a column step are the columns of two products: of 8 units, the first four are of the even columns.
template <class T>
struct BlockForwardOrder {
  using Slice = typename T::ForwardSlice;
  __device__ static Place place_of(const Element& e) {
    const int unit = e.warp * kUnitsOfBlockWarp + e.is_lower_half() * 8 + e.fragment_row();
    const int column_step = e.fragment / (2 * T::kGates);
    const int from = column_step * kColumnsAtOnce + e.fragment_column() * 8 + e.fragment % 2 * 4 +
                     e.is_right_half() * 2 + e.low_bit();
    return {e.fragment / 2 % T::kGates, unit, from};
  }
};

// The 16 columns of a fragment are one gate of the 16 units of a warp.
template <class T>
struct BlockBackwardOrder {
  using Slice = typename T::BackwardSlice;
  __device__ static Place place_of(const Element& e) {
    const int to = e.warp * kUnitsOfBlockWarp + e.is_lower_half() * 8 + e.fragment_row();
    const int from =
        e.fragment / T::kGates * kUnitsOfBlockWarp + e.is_right_half() * 8 + e.fragment_column() * 2 + e.low_bit();
    return {e.fragment % T::kGates, from, to};
  }
};

}  // namespace rnnlab::kernels::persistent
