// SPDX-License-Identifier: Apache-2.0
// Back-propagation through time of a group of sequences by one block. In each step a warp computes the gradients of the
// gates of its 16 units, shares them with the other warps, and multiplies those of all units for the gradients of its
// own hidden states before the step. Gradients of float16 are scaled by a power of two, which each warp chooses for
// itself in every step.
#pragma once

#include "layers/persistent/block/owner.h"
#include "layers/persistent/block/weights.h"

namespace rnnlab::kernels::persistent {

template <class T>
class BlockBackward {
 public:
  // unscales: two for each warp.
  __device__ BlockBackward(const PersistentBackward& work, uint4* shared, float* unscales)
      : work_(work),
        sequence_(work.sequence),
        owner_(work.sequence),
        rows_(work.sequence, opposite(work.sequence.order)),
        place_(rows_.first + owner_.place()),
        starts_(work, opposite(work.sequence.order)),
        gates_(reinterpret_cast<uint32_t*>(shared)),
        unscales_(unscales),
        weights_(owner_.template weights<S>(work.weights), shared + T::kBackwardBufferBytes / 16, owner_.warp,
                 owner_.lane) {}

  __device__ void run() {
    read_last();
    // Inputs are read two steps before they are used. Two names for them spare a copy, which would wait for the memory.
    Inputs of_even = read_inputs(0, place_);
    Inputs of_odd;
    if (num_steps() > 1) of_odd = read_inputs(1, place_ + rows_.stride);
    for (int step = 0; step < num_steps(); step += 2) {
      run_step(step, of_even);
      if (step + 1 < num_steps()) run_step(step + 1, of_odd);
    }
    write_initial();
    if (work_.bias_sums != nullptr) write_bias_sums();
    if (work_.largest != nullptr && owner_.lane == 0) atomicMax(work_.largest, static_cast<int32_t>(largest_));
  }

 private:
  using S = typename T::BackwardSlice;
  using Cell = typename T::Cell;
  using State = typename Cell::State;
  using Value = typename T::Numbers::Value;
  using Operand = typename T::Numbers::Operand;
  using Functions = FunctionsOf<typename T::Numbers>;
  using Inputs = BlockBackwardInputs<T>;
  static constexpr int kGates = T::kGates;
  static constexpr int kKeptRoom = Cell::kKept > 0 ? Cell::kKept : 1;

  // Gradients of the gates before activation: of R h + b, and of W x + b of the last gate if that differs.
  struct Gradients {
    float gates[T::kCells][kGates];
    float aside[T::kCells];
    UnitVectors<Cell> vectors[T::kCells];

    __device__ void clear(int cell) {
#pragma unroll
      for (float& gate : gates[cell]) gate = 0.0f;
      aside[cell] = 0.0f;
      vectors[cell].clear();
    }
  };

  __device__ int num_steps() const { return static_cast<int>(sequence_.num_steps); }

  // The gradients of the last states.
  __device__ void read_last() {
    for (int half = 0; half < 2; ++half)
      vectors_[half].template read<Value>(work_.vectors, owner_.hidden_size(), owner_.unit_of(half));
    const Value* later = static_cast<const Value*>(work_.later_hidden) + owner_.place();
    for (int cell = 0; cell < T::kCells; ++cell) {
      carried_[cell] = {};
      hidden_[cell] = 0.0f;
      if (!owner_.has(cell)) continue;
      if constexpr (Cell::kHasCellState) carried_[cell] = last_cell(owner_.offset(cell));
      if constexpr (Cell::kCarriesHidden) carried_[cell].after = last_hidden(owner_.offset(cell));
      if (work_.later_hidden != nullptr) hidden_[cell] = to_float(later[owner_.offset(cell)]);
    }
  }

  __device__ typename Cell::Carried last_cell(int offset) const {
    const State last = read_state<State>(work_.cell + place_ + rows_.after + offset, rows_.size_of_states());
    if (work_.later_cell == nullptr) return Cell::carried_from(last, {});
    return Cell::carried_from(last, read_state<State>(work_.later_cell + owner_.place() + offset, rows_.row));
  }

  __device__ float last_hidden(int offset) const {
    return to_float(static_cast<const Value*>(work_.hidden)[place_ + rows_.after + offset]);
  }

  // place: of this thread's first cell, in the step.
  __device__ Inputs read_inputs(int step, int64_t place) const {
    Inputs inputs(work_, owner_, rows_, place);
    if (owner_.is_in_batch) inputs.starts = starts_.at(step, owner_.sequence);
    return inputs;
  }

  // inputs: of this step in, of the step after the next out.
  __device__ void run_step(int step, Inputs& inputs) {
    weights_.read_ahead();
    Gradients gradients;
    differentiate(inputs, gradients);
    const float scale = T::Numbers::kIsScaled ? scale_of_warp(gradients) : 1.0f;
    if (T::Numbers::kIsScaled && owner_.lane == 0) unscales_[(step & 1) * T::kWarps + owner_.warp] = 1.0f / scale;
    share(step, gradients, inputs.starts != 0 ? 0.0f : scale);
    if (step + 2 < num_steps()) inputs = read_inputs(step + 2, place_ + 2 * rows_.stride);
    __syncthreads();
    write(gradients);
    multiply_gates<T>(weights_, gates_ + (step & 1) * T::kGateWords + 2 * T::kPairs * owner_.lane,
                      unscales_ + (step & 1) * T::kWarps, hidden_);
    place_ += rows_.stride;
  }

  __device__ void differentiate(const Inputs& inputs, Gradients& gradients) {
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      const float hidden =
          to_float(inputs.output_gradient[cell]) + Cell::hidden_gradient_of(carried_[cell]) + hidden_[cell];
      float kept[kKeptRoom];
#pragma unroll
      for (int i = 0; i < Cell::kKept; ++i) kept[i] = to_float(inputs.kept[cell][i]);
      cell_.template backward<Functions>(kept, state_of(inputs, cell), inputs.starts != 0, hidden,
                                         inputs.cell_gradient[cell], vectors_[cell], carried_[cell],
                                         gradients.gates[cell], gradients.aside[cell], gradients.vectors[cell]);
      if (Cell::kMaySpoilOthers && !owner_.has(cell)) gradients.clear(cell);
      bias_sums_[cell].add(gradients.gates[cell], gradients.aside[cell], gradients.vectors[cell]);
    }
  }

  __device__ static State state_of(const Inputs& inputs, int cell) {
    if constexpr (Cell::kHasCellState)
      return inputs.state[cell];
    else
      return to_float(inputs.state[cell]);
  }

  __device__ float scale_of_warp(const Gradients& gradients) {
    float largest = 0.0f;
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        largest = fmaxf(largest, larger_side<Cell>(gate, gradients.gates[cell][gate], gradients.aside[cell]));
    const uint32_t of_warp = __reduce_max_sync(~0u, __float_as_uint(largest));
    largest_ = max(largest_, of_warp);
    return scale_for_half(of_warp);
  }

  // Writes the warp's gradients to shared memory as a lane of the product takes them. The transposition brings two
  // units of one sequence together: lane (row, column) has units 2 * column and 2 * column + 1 of 8 units, for sequence
  // row / 2, of the first gate of a pair if row is even. factor: the warp's scale, or 0 if the sequence starts with the
  // step, so that no gradient reaches the steps before it.
  __device__ void share(int step, const Gradients& gradients, float factor) {
    uint32_t* place =
        gates_ + (step & 1) * T::kGateWords + owner_.warp * (T::kGateWords / T::kWarps) + 2 * T::kPairs * owner_.lane;
#pragma unroll
    for (int part = 0; part < T::kParts; ++part, place += 2 * T::kPairs * kLanes)
#pragma unroll
      for (int gate = 0; gate < kGates; gate += 2) {
        const auto word = [&](int half) {
          const float(&of_unit)[kGates] = gradients.gates[half];
          const float second = gate + 1 < kGates ? of_unit[(gate + 1) % kGates] * factor : 0.0f;
          return transposed(pack_part<Operand>(part, of_unit[gate] * factor, second));
        };
        *reinterpret_cast<uint2*>(place + gate) = make_uint2(word(0), word(1));
      }
  }

  __device__ void write(const Gradients& gradients) const {
    using Columns = GradientColumns<Cell>;
    Value* out = static_cast<Value*>(work_.gate_gradients) + owner_.gate_place(place_, Columns::kCount);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      if (!owner_.has(cell)) continue;
      const auto write_column = [&](int column, float gradient) {
        out[owner_.gate_offset(cell, column)] = from_float<Value>(gradient);
      };
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) write_column(Columns::of(gate), gradients.gates[cell][gate]);
      if constexpr (Cell::kHasTwoSides) write_column(Columns::kAside, gradients.aside[cell]);
    }
  }

  __device__ void write_initial() const {
    Value* initial_hidden = static_cast<Value*>(work_.initial_hidden) + owner_.place();
    float* initial_cell = work_.initial_cell + owner_.place();
    for (int cell = 0; cell < T::kCells; ++cell) {
      if (!owner_.has(cell)) continue;
      const int offset = owner_.offset(cell);
      initial_hidden[offset] = from_float<Value>(hidden_[cell] + Cell::hidden_gradient_of(carried_[cell]));
      if constexpr (Cell::kHasCellState)
        write_state(initial_cell + offset, rows_.row, Cell::initial_gradient(carried_[cell]));
    }
  }

  // The four threads of a unit have all sequences of a group.
  __device__ void write_bias_sums() const {
    const auto of_all_sequences = [](float sum) {
      sum += __shfl_xor_sync(~0u, sum, 1);
      return sum + __shfl_xor_sync(~0u, sum, 2);
    };
    for (int half = 0; half < 2; ++half) {
      const SumPlace place = {.is_first = owner_.lane % 4 == 0,
                              .unit = owner_.unit_of(half),
                              .hidden_size = owner_.hidden_size(),
                              .first_row = owner_.group,
                              .num_sequences = owner_.is_in_layer(half) ? kSequencesOfSums : 0};
      bias_sums_[half].write(place, 1, of_all_sequences, work_.bias_sums);
    }
  }

  const PersistentBackward& work_;
  const PersistentSequence& sequence_;
  Cell cell_;
  BlockOwner<T> owner_;
  PassRows rows_;
  int64_t place_;  // of this thread's first cell, in the current step
  StartMarks<Cell, PersistentBackward> starts_;
  uint32_t* gates_;  // two buffers: warps by parts by 32 lanes by kPairs by two words
  float* unscales_;
  WeightSlice<S> weights_;
  typename Cell::Carried carried_[T::kCells];
  float hidden_[T::kCells];  // what the products add to the gradients of the hidden states after the current step
  BiasSums<T> bias_sums_[2];
  UnitVectors<Cell> vectors_[2];
  uint32_t largest_ = 0;  // the bits of the largest gradient of a gate that the warp has had
};

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    block_backward_kernel(const __grid_constant__ PersistentBackward work) {
  extern __shared__ uint4 shared[];
  __shared__ float unscales[2 * T::kWarps];
  BlockBackward<T>(work, shared, unscales).run();
}

}  // namespace rnnlab::kernels::persistent
