// What a step of the backward pass reads.
#pragma once

#include "recurrent/kernels/persistent/sequence.h"

namespace rnnlab::kernels::persistent {

// Of a thread's unit, for two sequences of each tile. Numbers stay as they are in memory until they are used: who
// converts them waits for them.
template <class T>
struct BackwardInputs {
  using Cell = typename T::Cell;
  using Value = typename T::Numbers::Value;
  using State = std::conditional_t<Cell::kHasCellState, float, Value>;

  Value kept[T::kTiles][2][Cell::kKept > 0 ? Cell::kKept : 1] = {};
  State state[T::kTiles][2] = {};
  Value output_gradient[T::kTiles][2] = {};
  float cell_gradient[T::kTiles][2] = {};

  // place: of the thread's unit and first sequence, at the step.
  __device__ BackwardInputs(const PersistentBackward& work, const Owner<T>& owner, const PassRows& rows,
                            int64_t place) {
    const Value* gates = static_cast<const Value*>(work.gates) + owner.gate_place(place);
    const Value* candidates = static_cast<const Value*>(work.candidates) + place;
    const Value* of_output = static_cast<const Value*>(work.output_gradient) + place;
    const float* of_cell = work.cell_gradient + place;
    const State* states = states_of(work) + place + (Cell::kReadsStateAfter ? rows.after : rows.before);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner.has(tile, i)) continue;
        const int offset = owner.offset(tile, i);
#pragma unroll
        for (int gate = 0; gate < smaller(T::kGates, Cell::kKept); ++gate)
          kept[tile][i][gate] = gates[owner.gate_offset(tile, i, gate)];
        if constexpr (Cell::kHasTwoSides) kept[tile][i][T::kGates] = candidates[offset];
        state[tile][i] = states[offset];
        if (work.output_gradient != nullptr) output_gradient[tile][i] = of_output[offset];
        if constexpr (Cell::kHasCellState)
          if (work.cell_gradient != nullptr) cell_gradient[tile][i] = of_cell[offset];
      }
  }

  __device__ static const State* states_of(const PersistentBackward& work) {
    if constexpr (Cell::kHasCellState)
      return work.cell;
    else
      return static_cast<const Value*>(work.hidden);
  }
};

}  // namespace rnnlab::kernels::persistent
