// SPDX-License-Identifier: Apache-2.0
// The recurrent weights of a cluster kernel: which of them a fragment has (shared/fragments.h), and the products of a
// warp's part with the vectors of the group, forward and backward.
#pragma once

#include "layers/persistent/cluster/tiles.h"
#include "layers/persistent/shared/fragments.h"

namespace rnnlab::kernels::persistent {

// The products take a warp's fragments in their order. A fragment is 16 rows by 16 columns of the operand. The last
// gate of a cell with an odd number of gates would fill only half of it, so there, forward, rows 0-7 and rows 8-15 are
// the same gate for two runs of 16 columns, and backward, the 16 columns are one gate of the units of two warps.

// sums: in and out, of gates 2 * i and 2 * i + 1 in tile i, and of an odd gate in the first half of the last tile.
// hidden: parts by tiles of sequences by kColumnSteps * 32 vectors, from this thread's place on. If there are few sums,
// two chains of them keep the tensor cores busy.
template <class T>
__device__ void multiply_forward(WeightSlice<typename T::ForwardSlice>& weights, const uint4* hidden,
                                 float (&sums)[T::kGateTiles][T::kTiles][4]) {
  constexpr int kFullTiles = T::kGates / 2;
  constexpr bool kHasTwoChains = T::kGateTiles * T::kTiles <= 4;
  float others[T::kGateTiles][T::kTiles][4] = {};
  int next = 0;
#pragma unroll
  for (int column = 0; column < T::kStepsOfTeam; ++column) {
    uint4 vectors[T::kParts][T::kTiles];
    read_vectors<T>(hidden + column * kLanes, T::kColumnSteps * kLanes, vectors);
#pragma unroll
    for (int tile = 0; tile < kFullTiles; ++tile) {
      multiply<T>(Weights16<T>(weights, next), words_of<T>(vectors, 0), sums[tile]);
      multiply<T>(Weights16<T>(weights, next), words_of<T>(vectors, 2), kHasTwoChains ? others[tile] : sums[tile]);
    }
    if constexpr (kFullTiles < T::kGateTiles) {
      const Weights16<T> odd(weights, next);
      multiply<T>(odd, words_of<T>(vectors, 0), sums[kFullTiles]);
      multiply<T>(odd, words_of<T>(vectors, 2), others[kFullTiles]);
    }
  }
#pragma unroll
  for (int tile = 0; tile < T::kGateTiles; ++tile)
#pragma unroll
    for (int i = 0; i < T::kTiles; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[tile][i][j] += others[tile][i][tile < kFullTiles ? j : (j + 2) % 4];
}

// sums: in and out, of 16 units in each row tile. gates: parts by tiles of sequences by warps by 32 vectors, which have
// a word for each gate. kOddWord: the word of an odd gate.
template <class T, int kOddWord = T::kGates - 1>
__device__ void multiply_backward(WeightSlice<typename T::BackwardSlice>& weights, const uint4* gates,
                                  float (&sums)[T::kRowTiles][T::kTiles][4]) {
  constexpr bool kHasTwoChains = T::kRowTiles * T::kTiles <= 4;
  float others[T::kRowTiles][T::kTiles][4] = {};
  int next = 0;
#pragma unroll
  for (int warp = 0; warp < T::kUnitWarps; warp += 2) {
    Vectors16<T> odd;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      uint4 vectors[T::kParts][T::kTiles];
      read_vectors<T>(gates + (warp + i) * kLanes, T::kUnitWarps * kLanes, vectors);
#pragma unroll
      for (int row = 0; row < T::kRowTiles; ++row)
#pragma unroll
        for (int pair = 0; pair < T::kGates / 2; ++pair)
          multiply<T>(Weights16<T>(weights, next), words_of<T>(vectors, 2 * pair),
                      kHasTwoChains && (pair + i) % 2 == 1 ? others[row] : sums[row]);
#pragma unroll
      for (int part = 0; part < T::kParts; ++part)
#pragma unroll
        for (int tile = 0; tile < T::kTiles; ++tile)
          (i == 0 ? odd.low : odd.high)[part][tile] = word_of(vectors[part][tile], kOddWord);
    }
    if constexpr (T::kGates % 2 == 1)
#pragma unroll
      for (int row = 0; row < T::kRowTiles; ++row)
        multiply<T>(Weights16<T>(weights, next), odd, kHasTwoChains && warp % 4 == 2 ? others[row] : sums[row]);
  }
  if constexpr (kHasTwoChains) {
#pragma unroll
    for (int row = 0; row < T::kRowTiles; ++row)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[row][tile][j] += others[row][tile][j];
  }
}

// Packing: which element of the weights a number of a fragment is.

// A lane has the 8 units of one warp, of 32 units that are the columns of two products: four words, of which each
// product takes two.
template <class T>
struct ForwardOrder {
  using Slice = typename T::ForwardSlice;
  __device__ static Place place_of(const Element& e) {
    const int slot = e.fragment % T::kGates;
    const bool is_odd = T::kGates % 2 == 1 && slot == T::kGates - 1;
    const int gate = is_odd ? slot : slot / 2 * 2 + e.is_lower_half();
    const int half = is_odd ? e.is_lower_half() : slot % 2;
    const int team = e.warp / T::kUnitWarps;
    const int unit = e.block * T::kUnits + e.warp % T::kUnitWarps * kUnitsPerWarp + e.fragment_row();
    const int from = (team * T::kStepsOfTeam + e.fragment / T::kGates) * kColumnsAtOnce + e.fragment_column() * 8 +
                     half * 4 + e.is_right_half() * 2 + e.low_bit();
    return {gate, unit, from};
  }
};

// A lane has two of the 8 units of a warp of the block. The fragments of each couple of warps are, in this order: pairs
// of gates of the first warp, pairs of gates of the second, and the odd gate of both.
template <class T>
struct BackwardOrder {
  using Slice = typename T::BackwardSlice;
  static constexpr int kGatePairs = T::kGates / 2;
  __device__ static Place place_of(const Element& e) {
    constexpr int kOfPairs = T::kRowTiles * kGatePairs;  // of one warp
    constexpr int kOfCouple = T::kRowTiles * T::kGates;
    const int slot = e.fragment % kOfCouple;
    int warp = e.fragment / kOfCouple * 2;
    int row_tile = slot - 2 * kOfPairs;
    int gate = T::kGates - 1;
    if (slot >= 2 * kOfPairs) {
      warp += e.is_right_half();
    } else {
      warp += slot / at_least_1(kOfPairs);
      row_tile = slot % at_least_1(kOfPairs) / at_least_1(kGatePairs);
      gate = slot % at_least_1(kGatePairs) * 2 + e.is_right_half();
    }
    const int to = T::unit_tile(e.block, e.warp, row_tile) * kTileRows + e.is_lower_half() * 8 + e.fragment_row();
    const int from = e.block * T::kUnits + warp * kUnitsPerWarp + e.fragment_column() * 2 + e.low_bit();
    return {gate, from, to};
  }
  __device__ static constexpr int at_least_1(int count) { return count > 0 ? count : 1; }
};

}  // namespace rnnlab::kernels::persistent
