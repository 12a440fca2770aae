// The gradients of a layer's biases, which are the sums of its gates' gradients over all steps and sequences. A thread
// adds up its own unit's in registers; its group's are added in a fixed order, so that repeats give the same bits.
#pragma once

#include "recurrent/kernels/persistent/sequence.h"

namespace rnnlab::kernels::persistent {

template <class T>
class BiasSums {
 public:
  // gates: of R h + b; aside: of W x + b of the last gate, where that is another.
  __device__ void add(const float (&gates)[T::kGates], float aside) {
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate) sums_[gate] += gates[gate];
    if constexpr (kHasTwoSides) aside_ += aside;
  }

  // rows: as PersistentBackward has them. All threads of a warp; a group's sums go to its first row of 8 sequences.
  __device__ void write(const Owner<T>& owner, float* rows) const {
#pragma unroll
    for (int side = 0; side < kSides; ++side)
#pragma unroll
      for (int gate = 0; gate < T::kGates; ++gate) {
        const bool is_aside = kHasTwoSides && side == 0 && gate == T::kGates - 1;
        const float sum = of_all_sequences(is_aside ? aside_ : sums_[gate]);
        for (int tile = 0; tile < T::kTiles; ++tile) {
          const int64_t row = owner.first_sequence / kSequencesPerTile + tile;
          const int64_t place = ((row * kSides + side) * T::kGates + gate) * owner.hidden_size() + owner.unit;
          if (owner.lane % 4 == 0 && owner.has(tile, 0)) rows[place] = tile == 0 ? sum : 0.0f;
        }
      }
  }

 private:
  static constexpr bool kHasTwoSides = T::Cell::kHasTwoSides;
  static constexpr int kSides = kHasTwoSides ? 2 : 1;

  // The four threads of a unit have the sequences of a group.
  __device__ static float of_all_sequences(float sum) {
    sum += __shfl_xor_sync(~0u, sum, 1);
    return sum + __shfl_xor_sync(~0u, sum, 2);
  }

  float sums_[T::kGates] = {};
  float aside_ = 0.0f;
};

}  // namespace rnnlab::kernels::persistent
