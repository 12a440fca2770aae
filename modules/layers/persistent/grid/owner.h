// SPDX-License-Identifier: Apache-2.0
// Holds the cells of a thread of a grid kernel, each a unit for one sequence, their places in the tensors, and the
// turns in which its groups of sequences are computed.
#pragma once

#include <cstdint>

#include "layers/persistent/grid/tiles.h"
#include "layers/persistent/shared/passes.h"

namespace rnnlab::kernels::persistent {

// Neighbouring threads have neighbouring units of one sequence, so that the addresses that they read and write are
// neighbours. A thread's cells are counted over all turns: those of turn i begin with i * kCells.
template <class T>
struct GridOwner {
  int group;            // of this launch
  int block;            // of the group
  int warp, warpgroup;  // computed by a shuffle, so that the compiler knows that they are the same for a whole warp
  int lane;
  int unit_of_block;
  int unit;            // of the layer
  int sequence;        // that of the first cell, counted within the group
  int first_sequence;  // the first of the group, counted within the batch
  int num_sequences;   // from that of the first cell to the end of the batch; 0 if the unit is beyond the layer's
  int hidden_size;

  __device__ GridOwner(const PersistentSequence& of, int first_group)
      : group(static_cast<int>(blockIdx.x) / T::kBlocks),
        block(static_cast<int>(blockIdx.x) % T::kBlocks),
        warp(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / kLanes, 0)),
        warpgroup(warp / kWarpsPerGroup),
        lane(static_cast<int>(threadIdx.x) % kLanes),
        unit_of_block(static_cast<int>(threadIdx.x) % T::kUnits),
        unit(block * T::kUnits + unit_of_block),
        sequence(static_cast<int>(threadIdx.x) / T::kUnits),
        first_sequence((first_group + group) * T::kSequencesOfGroup),
        hidden_size(static_cast<int>(of.hidden_size)) {
    num_sequences = unit < hidden_size ? static_cast<int>(of.batch_size) - first_sequence - sequence : 0;
  }

  __device__ bool has(int cell) const { return cell * T::kStride < num_sequences; }

  // In a row (B, H): the place of the first cell, and the distance from there to another cell. A cell that is beyond
  // the batch or the layer has the place of one that exists, so that reads need no test.
  __device__ int64_t place() const {
    return has(0) ? static_cast<int64_t>(first_sequence + sequence) * hidden_size + unit : 0;
  }
  __device__ int offset(int cell) const { return has(cell) ? cell * T::kStride * hidden_size : 0; }

  // The unit and the sequence of the batch at a cell's place.
  __device__ int unit_in_row() const { return has(0) ? unit : 0; }
  __device__ int sequence_of(int cell) const {
    return has(0) ? first_sequence + sequence + (has(cell) ? cell * T::kStride : 0) : 0;
  }

  // The same in a row (B, columns * H) of gates or of their gradients.
  __device__ int64_t gate_place(int64_t place, int columns = T::kGates) const {
    return columns * place - (has(0) ? (columns - 1) * unit : 0);
  }
  __device__ int gate_offset(int cell, int gate, int columns = T::kGates) const {
    return columns * offset(cell) + gate * hidden_size;
  }
};

// A turn of a step, and its number counted over all steps.
struct Turn {
  int index, step, turn;

  template <class T>
  __device__ static Turn of(int index) {
    return {index, index / T::kTurns, index % T::kTurns};
  }
};

// Holds the values that a thread carries from step to step for each cell. The first kCells are always those of the
// current turn. At its end the others move up, because a register cannot be indexed at run time.
template <class T, class Carried>
class CarriedCells {
 public:
  __device__ Carried& of(int cell) { return cells_[cell]; }
  __device__ const Carried& of(int cell) const { return cells_[cell]; }

  __device__ void next_turn() {
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
