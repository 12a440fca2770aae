// Groups of sequences that take turns in a step of a grid kernel: which one is at hand, and what is carried from its
// step to its next.
#pragma once

#include "recurrent/kernels/persistent/grid_tiles.h"

namespace rnnlab::kernels::persistent {

// One turn of a step, and its number counted over all steps.
struct Turn {
  int index, step, turn;

  template <class T>
  __device__ static Turn of(int index) {
    return {index, index / T::kTurns, index % T::kTurns};
  }
};

// What a thread carries from step to step for each cell. The first kCells are those of the turn at hand: the others
// move up at its end, since registers have no index that is known only when the kernel runs.
template <class T, class Carried>
class Turning {
 public:
  __device__ Carried& of(int cell) { return cells_[cell]; }
  __device__ const Carried& of(int cell) const { return cells_[cell]; }

  __device__ void turn() {
    if constexpr (T::kTurns > 1) {
#pragma unroll
      for (int i = 0; i < T::kCells; ++i) {
        const Carried first = cells_[i];
#pragma unroll
        for (int turn = 0; turn + 1 < T::kTurns; ++turn)
          cells_[turn * T::kCells + i] = cells_[(turn + 1) * T::kCells + i];
        cells_[(T::kTurns - 1) * T::kCells + i] = first;
      }
    }
  }

 private:
  Carried cells_[T::kTurns * T::kCells];
};

}  // namespace rnnlab::kernels::persistent
