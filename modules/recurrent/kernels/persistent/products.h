// The product of a warp's part of the recurrent weights and the group's vectors, forward and backward, and the order in
// which it takes the weights' fragments. A fragment is 16 rows by 16 columns of the operand, but for a cell with an odd
// number of gates, whose last gate fills half the rows: there, forward, rows 0-7 and 8-15 are the same gate's for two
// runs of 16 columns, and backward, the 16 columns are one gate of two warps' units.
#pragma once

#include "recurrent/kernels/persistent/fragments.h"
#include "recurrent/kernels/persistent/weight_slice.h"

namespace rnnlab::kernels::persistent {

// 16 columns of weights, and the same rows of the vectors of all sequences, as mma takes them; all parts of both.
template <class T>
struct Weights16 {
  uint4 part[T::kParts];

  template <class S>
  __device__ Weights16(WeightSlice<S>& weights, int& next) {
#pragma unroll
    for (int i = 0; i < T::kParts; ++i) part[i] = weights.take(next++);
  }
};

template <class T>
struct Vectors16 {
  uint32_t low[T::kParts][T::kTiles], high[T::kParts][T::kTiles];
};

// sums += weights * vectors. Of two parts each, the product of both second ones is below float32's rounding.
template <class T>
__device__ void multiply(const Weights16<T>& weights, const Vectors16<T>& vectors, float (&sums)[T::kTiles][4]) {
#pragma unroll
  for (int i = 0; i < T::kParts; ++i)
#pragma unroll
    for (int j = 0; i + j < T::kParts; ++j)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile)
        multiply_add<typename T::Numbers::Operand>(sums[tile], weights.part[i], vectors.low[j][tile],
                                                   vectors.high[j][tile]);
}

__device__ inline uint32_t word_of(const uint4& vector, int i) {
  if (i < 2) return i == 0 ? vector.x : vector.y;
  return i == 2 ? vector.z : vector.w;
}

// Words `first` and one more of each vector.
template <class T>
__device__ Vectors16<T> words_of(const uint4 (&vectors)[T::kParts][T::kTiles], int first) {
  Vectors16<T> words;
#pragma unroll
  for (int part = 0; part < T::kParts; ++part)
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
      words.low[part][tile] = word_of(vectors[part][tile], first);
      words.high[part][tile] = word_of(vectors[part][tile], first + 1);
    }
  return words;
}

// Those of each part and tile, `stride` apart.
template <class T>
__device__ void read_vectors(const uint4* place, int stride, uint4 (&vectors)[T::kParts][T::kTiles]) {
#pragma unroll
  for (int part = 0; part < T::kParts; ++part)
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) vectors[part][tile] = place[(part * T::kTiles + tile) * stride];
}

// sums: of gates 2 * i and 2 * i + 1 in tile i, as they start; of an odd gate in the first half of the last tile.
// hidden: parts by tiles of sequences by kColumnSteps * 32 vectors, from this thread's place on. Two chains of sums
// keep the tensor cores busy where there are few.
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

// sums: of 16 units a row tile. gates: parts by tiles of sequences by warps by 32 vectors, of one word a gate.
template <class T>
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
          (i == 0 ? odd.low : odd.high)[part][tile] = word_of(vectors[part][tile], T::kGates - 1);
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

}  // namespace rnnlab::kernels::persistent
