// SPDX-License-Identifier: Apache-2.0
// Holds the units and the sequences of a thread of a block kernel, their places in the tensors, and the inputs of a
// step of the backward pass.
#pragma once

#include "layers/persistent/block/tiles.h"
#include "layers/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

// Thread (row, column) of a warp has the states of two units of the warp, `row` and `row` + 8, for sequence `column`. A
// cell is one unit in one sequence. Each head of a layer with heads has a block of its own, and units are numbered
// within the head.
template <class T>
struct BlockOwner {
  int warp, lane;
  int num_heads, head;
  int group;     // of sequences
  int unit;      // the first of the two
  int sequence;  // of the batch
  int size;      // hidden size of a head
  bool is_in_batch;

  __device__ explicit BlockOwner(const PersistentSequence& of_layer)
      : warp(static_cast<int>(threadIdx.x) / kLanes),
        lane(static_cast<int>(threadIdx.x) % kLanes),
        num_heads(T::Cell::kHasHeads ? static_cast<int>(of_layer.num_heads) : 1),
        head(static_cast<int>(blockIdx.x) % num_heads),
        group(static_cast<int>(blockIdx.x) / num_heads),
        unit(warp * kUnitsOfBlockWarp + lane / 4),
        sequence(group * T::kSequences + lane % 4),
        size(static_cast<int>(of_layer.hidden_size)),
        is_in_batch(sequence < of_layer.batch_size) {}

  // That of a head, which is at most that of T, and that of all heads.
  __device__ int hidden_size() const { return T::kFit == Fit::kWhole ? T::kHiddenSize : size; }
  __device__ int row_size() const { return num_heads * hidden_size(); }
  __device__ int column_of(int unit_of_head) const { return head * hidden_size() + unit_of_head; }
  __device__ int unit_of(int half) const { return unit + 8 * half; }
  __device__ bool is_in_layer(int half) const { return unit_of(half) < hidden_size(); }
  __device__ bool has(int cell) const { return is_in_batch && is_in_layer(cell); }

  // In a row (B, heads, H): the place of the first cell, and the distance from there to another cell.
  __device__ int64_t place() const { return static_cast<int64_t>(sequence) * row_size() + column_of(unit); }
  __device__ static int offset(int cell) { return 8 * cell; }

  // The same in a row (B, heads, columns * H) of gates or of their gradients.
  __device__ int64_t gate_place(int64_t place, int columns = T::kGates) const {
    return columns * place - (columns - 1) * unit;
  }
  __device__ int gate_offset(int cell, int gate) const { return gate * hidden_size() + offset(cell); }

  // The vectors of packed weights that this warp reads, in a pass of the slice S.
  template <class S>
  __device__ const uint4* weights(const void* packed) const {
    return static_cast<const uint4*>(packed) + (head * T::kWarps + warp) * S::kFragments * kLanes;
  }
};

// Holds the inputs of a step of the backward pass for a thread's cells. Numbers keep the type that they have in memory
// until they are used, because converting them would wait for them.
template <class T>
struct BlockBackwardInputs {
  using Cell = typename T::Cell;
  using Value = typename T::Numbers::Value;
  using State = std::conditional_t<Cell::kHasCellState, typename Cell::State, Value>;

  Value kept[T::kCells][Cell::kKept > 0 ? Cell::kKept : 1] = {};
  State state[T::kCells] = {};
  Value output_gradient[T::kCells] = {};
  float cell_gradient[T::kCells] = {};
  StartMark<Cell> starts = {};  // whether the sequence starts with the step

  BlockBackwardInputs() = default;

  // place: of the thread's first cell, in the row of the step.
  __device__ BlockBackwardInputs(const PersistentBackward& work, const BlockOwner<T>& owner, const PassRows& rows,
                                 int64_t place) {
    const Value* gates = static_cast<const Value*>(work.gates) + owner.gate_place(place);
    const Value* candidates = static_cast<const Value*>(work.candidates) + place;
    const Value* of_output = static_cast<const Value*>(work.output_gradient) + place;
    const float* of_cell = work.cell_gradient + place;
    const int64_t of_state = place + (Cell::kReadsStateAfter ? rows.after : rows.before);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      if (!owner.has(cell)) continue;
      const int offset = owner.offset(cell);
#pragma unroll
      for (int gate = 0; gate < smaller(T::kGates, Cell::kKept); ++gate)
        kept[cell][gate] = gates[owner.gate_offset(cell, gate)];
      if constexpr (Cell::kKept > T::kGates) kept[cell][T::kGates] = candidates[offset];
      state[cell] = state_at(work, rows, of_state + offset);
      if (work.output_gradient != nullptr) output_gradient[cell] = of_output[offset];
      if constexpr (Cell::kHasCellState)
        if (work.cell_gradient != nullptr) cell_gradient[cell] = of_cell[offset];
    }
  }

  __device__ static State state_at(const PersistentBackward& work, const PassRows& rows, int64_t place) {
    if constexpr (Cell::kHasCellState)
      return read_state<State>(work.cell + place, rows.size_of_states());
    else
      return static_cast<const Value*>(work.hidden)[place];
  }
};

}  // namespace rnnlab::kernels::persistent
