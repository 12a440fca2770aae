// SPDX-License-Identifier: Apache-2.0
// The gradients of a step of the backward pass of a grid kernel: what a thread reads and writes of the tensors, step by
// step, and by what gates' gradients are multiplied before they become float16.
#pragma once

#include <cstdint>
#include <type_traits>

#include "layers/persistent/grid/owner.h"
#include "layers/persistent/shared/cluster_exchange.h"
#include "layers/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

// Reads and writes for this thread's cells, at one step after the other.
template <class T>
class GridGradients {
 public:
  using Cell = typename T::Cell;
  using Value = typename T::Numbers::Value;
  static constexpr int kGates = T::kGates;
  static constexpr int kKeptRoom = Cell::kKept > 0 ? Cell::kKept : 1;

  // Holds the inputs of a step, in their types in memory, because a conversion would wait for them.
  using State = std::conditional_t<Cell::kHasCellState, float, Value>;
  struct Step {
    Value kept[T::kCells][kKeptRoom];
    State state[T::kCells];
    Value output_gradient[T::kCells];
    float cell_gradient[T::kCells];
    StartMark<Cell> starts;  // of this lane
  };
  // Gradients of the gates before activation: of R h + b, and of W x + b of the last gate if that differs.
  struct Gates {
    float of[T::kCells][kGates];
    float aside[T::kCells];
    UnitVectors<Cell> vectors[T::kCells];

    __device__ float magnitude(int cell, int gate) const {
      return larger_side<Cell>(gate, of[cell][gate], aside[cell]);
    }
  };

  __device__ GridGradients(const PersistentBackward& work, const GridOwner<T>& owner)
      : work_(work),
        owner_(owner),
        rows_(work.sequence, opposite(work.sequence.order)),
        place_(rows_.first + owner.place()),
        starts_(work, opposite(work.sequence.order)) {}

  __device__ void advance() { place_ += rows_.stride; }

  __device__ float last_cell_state(int cell) const { return work_.cell[place_ + rows_.after + owner_.offset(cell)]; }
  __device__ float last_hidden_state(int cell) const {
    return to_float(static_cast<const Value*>(work_.hidden)[place_ + rows_.after + owner_.offset(cell)]);
  }

  // Gradients of the states after the last step, from steps that another launch has computed; 0 if there are none.
  __device__ float later_cell_gradient(int cell) const {
    return work_.later_cell == nullptr ? 0.0f : work_.later_cell[owner_.place() + owner_.offset(cell)];
  }
  __device__ float later_hidden_gradient(int cell) const {
    if (work_.later_hidden == nullptr) return 0.0f;
    return to_float(static_cast<const Value*>(work_.later_hidden)[owner_.place() + owner_.offset(cell)]);
  }

  // Reads the inputs of a turn of the step to which the tensors have advanced.
  __device__ Step read(int step, int turn) const {
    const Value* gates = static_cast<const Value*>(work_.gates) + owner_.gate_place(place_);
    const Value* candidates = static_cast<const Value*>(work_.candidates) + place_;
    const Value* output_gradient = static_cast<const Value*>(work_.output_gradient) + place_;
    const float* cell_gradient = work_.cell_gradient + place_;
    Step read;
    read.starts = starts_.of_lane(step, owner_.first_sequence + turn * T::kSequences, owner_.lane);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      const int offset = owner_.offset(turn * T::kCells + cell);
#pragma unroll
      for (int gate = 0; gate < smaller(kGates, Cell::kKept); ++gate)
        read.kept[cell][gate] = gates[owner_.gate_offset(turn * T::kCells + cell, gate)];
      if constexpr (Cell::kKept > kGates) read.kept[cell][kGates] = candidates[offset];
      read.state[cell] = state_at(place_ + offset);
      read.output_gradient[cell] = from_float<Value>(0.0f);
      if (work_.output_gradient != nullptr) read.output_gradient[cell] = output_gradient[offset];
      read.cell_gradient[cell] = 0.0f;
      if constexpr (Cell::kHasCellState)
        if (work_.cell_gradient != nullptr) read.cell_gradient[cell] = cell_gradient[offset];
    }
    return read;
  }

  // Writes the gradients times `scale`. Written: their type in memory.
  template <class Written>
  __device__ void write(int turn, const Gates& gates, float scale) const {
    using Columns = GradientColumns<Cell>;
    Written* out = static_cast<Written*>(work_.gate_gradients) + owner_.gate_place(place_, Columns::kCount);
#pragma unroll
    for (int i = 0; i < T::kCells; ++i) {
      const int cell = turn * T::kCells + i;
      if (!owner_.has(cell)) continue;
      const auto write_column = [&](int column, float gradient) {
        out[owner_.gate_offset(cell, column, Columns::kCount)] = from_float<Written>(gradient * scale);
      };
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) write_column(Columns::of(gate), gates.of[i][gate]);
      if constexpr (Cell::kHasTwoSides) write_column(Columns::kAside, gates.aside[i]);
    }
  }

  // Writes the gradients of the initial states.
  __device__ void write_initial(int cell, float hidden, float cell_state) const {
    if (!owner_.has(cell)) return;
    const int64_t place = owner_.place() + owner_.offset(cell);
    static_cast<Value*>(work_.initial_hidden)[place] = from_float<Value>(hidden);
    if constexpr (Cell::kHasCellState) work_.initial_cell[place] = cell_state;
  }

 private:
  __device__ State state_at(int64_t place) const {
    place += Cell::kReadsStateAfter ? rows_.after : rows_.before;
    if constexpr (Cell::kHasCellState)
      return work_.cell[place];
    else
      return static_cast<const Value*>(work_.hidden)[place];
  }

  const PersistentBackward& work_;
  GridOwner<T> owner_;  // a copy, because a reference would keep the whole block out of registers
  PassRows rows_;
  int64_t place_;  // of this thread's unit and first cell, in the current step
  StartMarks<Cell, PersistentBackward> starts_;
};

// The factors of gates' gradients before they become float16: powers of two that bring the largest gradient near
// the top of float16's range. There is one for each sequence, or, if a block has few units, for the sequences that
// share a warp.
template <class T>
class GradientScales {
 public:
  using Gates = typename GridGradients<T>::Gates;

  // How many numbers of shared memory are needed, which are used if several warps have units of a sequence; and how
  // many after them for the largest of a block.
  static constexpr int kMaxima = T::kWarpsOfSequence > 1 ? 2 * T::kWarps* T::kCells : 1;
  static constexpr int kMaximaOfBlock = 2 * T::kWarps;

  __device__ GradientScales(uint32_t* maxima, int warp, int lane) : maxima_(maxima), warp_(warp), lane_(lane) {}

  // Finds the scales of this thread's cells.
  __device__ void find(int index, const Gates& gradients, float (&scales)[T::kCells]) {
    uint32_t largest[T::kCells];
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) largest[cell] = largest_of_warp(gradients, cell);
    if constexpr (T::kWarpsOfSequence > 1) share(index, largest);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      largest_ = max(largest_, largest[cell]);
      scales[cell] = scale_for_half(largest[cell]);
    }
  }

  // The bits of the largest magnitude that this warp has seen.
  __device__ uint32_t largest() const { return largest_; }

  // The same of the whole block: each warp tells it before a barrier of the block, and reads it after the barrier. Two
  // buffers are used in turn.
  __device__ void tell_block(int index) const {
    if (lane_ == 0) maxima_of_block(index)[warp_] = largest_;
  }
  __device__ uint32_t largest_of_block(int index) const {
    return __reduce_max_sync(~0u, maxima_of_block(index)[lane_ % T::kWarps]);
  }

 private:
  __device__ uint32_t* maxima_of_block(int index) const { return maxima_ + kMaxima + (index & 1) * T::kWarps; }

  // The bits of the warp's largest magnitude.
  __device__ static uint32_t largest_of_warp(const Gates& gradients, int cell) {
    float largest = 0.0f;
#pragma unroll
    for (int gate = 0; gate < T::kGates; ++gate) largest = fmaxf(largest, gradients.magnitude(cell, gate));
    return __reduce_max_sync(~0u, __float_as_uint(largest));
  }

  // Finds the largest among the warps of a sequence. Two buffers are used in turn: a warp that writes to one again has
  // passed a barrier of the block since.
  __device__ void share(int index, uint32_t (&largest)[T::kCells]) const {
    const int first = warp_ / T::kWarpsOfSequence * T::kWarpsOfSequence;
    uint32_t* maxima = maxima_ + (index & 1) * T::kWarps * T::kCells;
    if (lane_ == 0)
      for (int cell = 0; cell < T::kCells; ++cell) maxima[warp_ * T::kCells + cell] = largest[cell];
    barrier_of_warps(kFirstBarrier + warp_ / T::kWarpsOfSequence, T::kWarpsOfSequence);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
#pragma unroll
      for (int warp = 0; warp < T::kWarpsOfSequence; ++warp)
        largest[cell] = max(largest[cell], maxima[(first + warp) * T::kCells + cell]);
  }

  uint32_t* maxima_;
  int warp_, lane_;
  uint32_t largest_ = 0;
};

}  // namespace rnnlab::kernels::persistent
