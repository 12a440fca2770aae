// The gradients of a layer's biases from a grid kernel, as BiasSums has them: a thread adds up its own cells' gates in
// registers; those of all sequences of a group meet in shared memory when the pass is over.
#pragma once

#include "recurrent/kernels/persistent/grid_owner.h"

namespace rnnlab::kernels::persistent {

template <class T>
class GridBiasSums {
 public:
  // gates: of R h + b; aside: of W x + b of the last gate, where that is another. 0 for a cell that is not there.
  __device__ void add(const float (&gates)[T::kGates], float aside) {
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate) sums_[gate] += gates[gate];
    if constexpr (kHasTwoSides) aside_ += aside;
  }

  // rows: as PersistentBackward has them; a group's sums go to its first row of 8 sequences. room: of shared memory, a
  // number for each thread. By all threads of the block.
  __device__ void write(const GridOwner<T>& owner, float* room, float* rows) const {
#pragma unroll
    for (int side = 0; side < kSides; ++side)
#pragma unroll
      for (int gate = 0; gate < T::kGates; ++gate) {
        const bool is_aside = kHasTwoSides && side == 0 && gate == T::kGates - 1;
        const float sum = of_all_sequences(is_aside ? aside_ : sums_[gate], room);
        if (owner.sequence > 0) continue;
        for (int tile = 0; tile < T::kTurns * T::kTiles; ++tile) {
          const int64_t row = owner.first_sequence / kSequencesPerTile + tile;
          const int64_t place = ((row * kSides + side) * T::kGates + gate) * owner.hidden_size + owner.unit;
          if (tile * kSequencesPerTile < owner.num_sequences) rows[place] = tile == 0 ? sum : 0.0f;
        }
      }
  }

 private:
  static constexpr bool kHasTwoSides = T::Cell::kHasTwoSides;
  static constexpr int kSides = kHasTwoSides ? 2 : 1;

  // For the thread that has a unit's first sequence.
  __device__ static float of_all_sequences(float sum, float* room) {
    __syncthreads();
    room[threadIdx.x] = sum;
    __syncthreads();
    float of_all = 0.0f;
    for (int place = static_cast<int>(threadIdx.x); place < T::kThreads; place += T::kUnits) of_all += room[place];
    return of_all;
  }

  float sums_[T::kGates] = {};
  float aside_ = 0.0f;
};

}  // namespace rnnlab::kernels::persistent
