// Which elements of the tensors a thread of a grid kernel works on.
#pragma once

#include "recurrent/kernels/persistent/grid_tiles.h"
#include "recurrent/kernels/persistent/sequence.h"

namespace rnnlab::kernels::persistent {

// Neighbouring threads have neighbouring units of one sequence, so that they read and write side by side. A thread's
// cells are counted over all turns: those of turn i begin with i * kCells.
template <class T>
struct GridOwner {
  int group;            // of this launch
  int block;            // of the group
  int warp, warpgroup;  // by a shuffle, so that the compiler sees that they are the same for a whole warp
  int lane;
  int unit_of_block;
  int unit;            // of the layer
  int sequence;        // of the group, of the first cell
  int first_sequence;  // of the group, in the batch
  int num_sequences;   // from the first cell's to the end of the batch; none for a unit beyond the layer's
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

  // Of this unit, in a row (B, H): the place of its first cell, and from there that of another one. A cell that is not
  // there has the place of one that is, so that reads wait for no test.
  __device__ int64_t place() const {
    return has(0) ? static_cast<int64_t>(first_sequence + sequence) * hidden_size + unit : 0;
  }
  __device__ int offset(int cell) const { return has(cell) ? cell * T::kStride * hidden_size : 0; }

  // The same in a row (B, columns * H), of gates or of their gradients.
  __device__ int64_t gate_place(int64_t place, int columns = T::kGates) const {
    return columns * place - (has(0) ? (columns - 1) * unit : 0);
  }
  __device__ int gate_offset(int cell, int gate, int columns = T::kGates) const {
    return columns * offset(cell) + gate * hidden_size;
  }
};

}  // namespace rnnlab::kernels::persistent
