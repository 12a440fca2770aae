// SPDX-License-Identifier: Apache-2.0
// The recurrent weights of a block kernel: which of them a fragment has (shared/fragments.h), and the products of a
// warp's part with the vectors of the group, forward and backward.
#pragma once

#include "recurrent/kernels/persistent/block/tiles.h"
#include "recurrent/kernels/persistent/shared/fragments.h"

namespace rnnlab::kernels::persistent {

// sums: in and out, of the 16 units of the warp for each gate. hidden: parts by tiles of sequences by kColumnSteps * 32
// vectors, from this lane's place on.
template <class T>
__device__ void multiply_hidden(WeightSlice<typename T::ForwardSlice>& weights, const uint4* hidden,
                                float (&sums)[T::kGates][T::kTiles][4]) {
  // Few sums would be few chains of products, each of which waits for the one before it.
  constexpr bool kHasTwoChains = T::kGates * T::kTiles <= 4;
  float others[T::kGates][T::kTiles][4] = {};
  int next = 0;
#pragma unroll
  for (int column = 0; column < T::kColumnSteps; ++column) {
    uint4 vectors[T::kParts][T::kTiles];
    read_vectors<T>(hidden + column * kLanes, T::kColumnSteps * kLanes, vectors);
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate) {
      multiply<T>(Weights16<T>(weights, next), words_of<T>(vectors, 0), sums[gate]);
      multiply<T>(Weights16<T>(weights, next), words_of<T>(vectors, 2), kHasTwoChains ? others[gate] : sums[gate]);
    }
  }
  if constexpr (kHasTwoChains) {
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[gate][tile][i] += others[gate][tile][i];
  }
}

// sums: out, the gradients of the hidden states of the 16 units of the warp. gates: for each warp, parts by tiles of
// sequences by kVectorsOfGates by 32 vectors, from this lane's place on; two words of a lane are a gate's. unscales:
// what the products with the gradients of each warp are multiplied by, if they are scaled.
template <class T>
__device__ void multiply_gates(WeightSlice<typename T::BackwardSlice>& weights, const uint4* gates,
                               const float* unscales, float (&sums)[T::kTiles][4]) {
  int next = 0;
#pragma unroll
  for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[tile][i] = 0.0f;
#pragma unroll
  for (int warp = 0; warp < T::kWarps; ++warp, gates += T::kGateVectors / T::kWarps) {
    const float unscale = T::Numbers::kIsScaled ? unscales[warp] : 1.0f;
    float of_warp[T::kTiles][4] = {};
#pragma unroll
    for (int i = 0; i < T::kVectorsOfGates; ++i) {
      uint4 vectors[T::kParts][T::kTiles];
      read_vectors<T>(gates + i * kLanes, T::kVectorsOfGates * kLanes, vectors);
#pragma unroll
      for (int gate = 2 * i; gate < smaller(2 * i + 2, T::kGates); ++gate)
        multiply<T>(Weights16<T>(weights, next), words_of<T>(vectors, 2 * (gate % 2)), of_warp);
    }
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[tile][i] += of_warp[tile][i] * unscale;
  }
}

// Packing: which element of the weights a number of a fragment is.

// A lane has 8 of 32 units that are the columns of two products: four words, of which each product takes two.
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
