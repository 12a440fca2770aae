// SPDX-License-Identifier: Apache-2.0
// The forward pass of a group of sequences by one block. In each step a warp multiplies the hidden states of the
// previous step, which are in shared memory, writes the results of that step to memory while it waits for the products,
// activates, and shares the hidden states of its 16 units with the other warps.
#pragma once

#include "layers/persistent/block/owner.h"
#include "layers/persistent/block/weights.h"

namespace rnnlab::kernels::persistent {

template <class T, StepInputs kInputs = StepInputs::kProducts>
class BlockForward {
 public:
  __device__ BlockForward(const PersistentForward& work, uint4* shared)
      : work_(work),
        sequence_(work.sequence),
        owner_(work.sequence),
        rows_(work.sequence, work.sequence.order),
        place_(rows_.first + owner_.place()),
        starts_(work, work.sequence.order),
        table_rows_(work),
        hidden_(reinterpret_cast<uint32_t*>(shared)),
        weights_(owner_.template weights<S>(work.weights), shared + T::kForwardBufferBytes / 16, owner_.warp,
                 owner_.lane) {}

  __device__ void run() {
    read_bias();
    read_initial();
    if constexpr (kInputs == StepInputs::kRowsOfTable) read_token(0);
    // Inputs are read two steps before they are used. Two names for them spare a copy, which would wait for the memory.
    Inputs of_even = read_inputs(0, place_);
    Inputs of_odd = {};
    if (num_steps() > 1) of_odd = read_inputs(1, place_ + rows_.stride);
    Results results;
    __syncthreads();
    for (int step = 0; step < num_steps(); step += 2) {
      run_step(step, of_even, results);
      if (step + 1 < num_steps()) run_step(step + 1, of_odd, results);
    }
    write(place_ - rows_.stride, results);
  }

 private:
  using S = typename T::ForwardSlice;
  using Cell = typename T::Cell;
  using State = typename Cell::State;
  using Value = typename T::Numbers::Value;
  using Operand = typename T::Numbers::Operand;
  using Functions = FunctionsOf<typename T::Numbers>;
  static constexpr int kGates = T::kGates;
  static constexpr int kKeptRoom = Cell::kKept > 0 ? Cell::kKept : 1;

  // The products of a step's inputs.
  struct Inputs {
    Value of[T::kCells][kGates];
    StartMark<Cell> next_starts;  // whether the sequence starts with the next step
  };

  // Holds the results of a step.
  struct Results {
    float kept[T::kCells][kKeptRoom];  // what the backward pass needs
    State state[T::kCells];            // the cell state, if the cell has one
    float hidden[T::kCells];
    float read[T::kCells];  // what the products of the next step read of `hidden`
  };

  __device__ int num_steps() const { return static_cast<int>(sequence_.num_steps); }

  __device__ float bias(const void* of, int gate, int half) const {
    if (of == nullptr || !owner_.is_in_layer(half)) return 0.0f;
    return to_float(static_cast<const Value*>(of)[gate * owner_.hidden_size() + owner_.unit_of(half)]);
  }

  // If the last gate has two sums, R h + b and W x + b, it has two biases.
  __device__ void read_bias() {
    for (int half = 0; half < 2; ++half) {
      for (int gate = 0; gate < kGates; ++gate)
        bias_[half][gate] = bias(work_.bias_ih, gate, half) + bias(work_.bias_hh, gate, half);
      if constexpr (Cell::kHasTwoSides) {
        bias_[half][kGates - 1] = bias(work_.bias_hh, kGates - 1, half);
        bias_aside_[half] = bias(work_.bias_ih, kGates - 1, half);
      }
      vectors_[half].template read<Value>(work_.vectors, owner_.hidden_size(), owner_.unit_of(half));
    }
  }

  __device__ void read_initial() {
    const int64_t before = place_ + rows_.before;
    for (int cell = 0; cell < T::kCells; ++cell) {
      carried_[cell] = {};
      if (!owner_.has(cell)) continue;
      const int64_t place = before + owner_.offset(cell);
      const bool starts = starts_.at(0, owner_.sequence) != 0;
      if (!starts) carried_[cell] = initial_state(place);
      write_read_hidden<T>(work_, place, starts ? 0.0f : initial_hidden(place));
    }
    const Value* hidden = static_cast<const Value*>(work_.hidden) + rows_.first + rows_.before;
    for (int i = static_cast<int>(threadIdx.x); i < T::kHiddenWords; i += T::kThreads) hidden_[i] = word_of(hidden, i);
  }

  __device__ State initial_state(int64_t place) const {
    if constexpr (Cell::kHasCellState)
      return read_state<State>(work_.cell + place, rows_.size_of_states());
    else
      return initial_hidden(place);
  }

  __device__ float initial_hidden(int64_t place) const {
    return to_float(static_cast<const Value*>(work_.hidden)[place]);
  }

  // Word `index` of the initial states: two units of one sequence.
  __device__ uint32_t word_of(const Value* hidden, int index) const {
    const int lane = index / 2 % kLanes;
    const int column_step = index / (2 * kLanes) % T::kColumnSteps;
    const int part = index / (2 * kLanes * T::kColumnSteps);
    const int column = lane / 4;
    const int unit = column_step * kColumnsAtOnce + lane % 4 * 8 + column % 2 * 4 + index % 2 * 2;
    const int64_t sequence = owner_.group * T::kSequences + column / 2;
    if (sequence >= sequence_.batch_size || unit >= owner_.hidden_size()) return 0;
    if (starts_.at(0, static_cast<int>(sequence)) != 0) return 0;
    const Value* units = hidden + sequence * owner_.row_size() + owner_.column_of(unit);
    return pack_part<Operand>(part, to_float(units[0]), to_float(units[1]));
  }

  // place: of this thread's first cell, in the step.
  __device__ Inputs read_inputs(int step, int64_t place) {
    if constexpr (kInputs == StepInputs::kRowsOfTable) return read_row(step);
    const Value* gates = static_cast<const Value*>(work_.gates) + owner_.gate_place(place);
    Inputs inputs = {};
    if (owner_.is_in_batch) inputs.next_starts = starts_.at(step + 1, owner_.sequence);
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        if (owner_.has(cell)) inputs.of[cell][gate] = gates[owner_.gate_offset(cell, gate)];
    return inputs;
  }

  // Called for each step in turn.
  __device__ Inputs read_row(int step) {
    Inputs inputs = {};
    if (!owner_.is_in_batch) return inputs;
    inputs.next_starts = starts_.at(step + 1, owner_.sequence);
    const Value* row = table_rows_.row(0, kGates * owner_.hidden_size()) + owner_.unit;
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        if (owner_.has(cell)) inputs.of[cell][gate] = row[owner_.gate_offset(cell, gate)];
    if (step + 1 < num_steps()) read_token(step + 1);
    return inputs;
  }

  __device__ void read_token(int step) {
    if (owner_.is_in_batch) table_rows_.read_token(0, step, owner_.sequence);
  }

  // inputs: of this step in, of the step after the next out. results: of the previous step in, of this step out.
  __device__ void run_step(int step, Inputs& inputs, Results& results) {
    TwoProducts products[kGates];
    float aside[T::kCells];
    begin(inputs, products, aside);
    const bool next_starts = inputs.next_starts != 0;
    if (step + 2 < num_steps()) inputs = read_inputs(step + 2, place_ + 2 * rows_.stride);
    weights_.read_ahead();
    multiply_hidden<T>(weights_, hidden_ + (step & 1) * T::kHiddenWords + 2 * owner_.lane, products);
    if (step > 0) write(place_ - rows_.stride, results);
    activate(products, aside, results);
    place_ += rows_.stride;
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) results.read[cell] = next_starts ? 0.0f : results.hidden[cell];
    if (step + 1 == num_steps()) return;
    if (next_starts)
      for (State& state : carried_) state = {};
    share(hidden_ + ((step + 1) & 1) * T::kHiddenWords, results);
    __syncthreads();
  }

  // Sets the initial values of the sums of a step: the products of the inputs, except for the last gate of a cell with
  // two sides.
  __device__ void begin(const Inputs& inputs, TwoProducts (&products)[kGates], float (&aside)[T::kCells]) const {
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      auto sum = [&](int gate) -> float& { return products[gate].even[0][2 * cell]; };
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) sum(gate) = to_float(inputs.of[cell][gate]) + bias_[cell][gate];
      aside[cell] = 0.0f;
      if constexpr (!Cell::kHasTwoSides) continue;
      sum(kGates - 1) = bias_[cell][kGates - 1];
      aside[cell] = to_float(inputs.of[cell][kGates - 1]) + bias_aside_[cell];
    }
  }

  __device__ void activate(const TwoProducts (&products)[kGates], const float (&aside)[T::kCells], Results& results) {
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      float gates[kGates];
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) gates[gate] = products[gate].sum(cell);
      results.hidden[cell] =
          cell_.template forward<Functions>(gates, aside[cell], vectors_[cell], carried_[cell], results.kept[cell]);
      if constexpr (Cell::kHasCellState) results.state[cell] = carried_[cell];
      if (Cell::kMaySpoilOthers && !owner_.has(cell)) results.hidden[cell] = 0.0f;
    }
  }

  // Writes the hidden states of the warp's units to shared memory as a lane of the product takes them. The
  // transposition brings two units of one sequence together: lane (row, column) has units 2 * column and 2 * column + 1
  // of sequence row / 2, of the first 8 units if row is even.
  __device__ void share(uint32_t* buffer, const Results& results) const {
    const int row = owner_.lane / 4, pair = owner_.lane % 4;
    const int octet = owner_.warp % 2 * 2 + row % 2;  // of the 32 units of a column step
    const int reader = 4 * (row / 2 * 2 + pair / 2) + octet;
    uint32_t* place = buffer + (owner_.warp / 2 * kLanes + reader) * 2 + pair % 2;
#pragma unroll
    for (int part = 0; part < T::kParts; ++part, place += 2 * kLanes * T::kColumnSteps)
      *place = transposed(pack_part<Operand>(part, results.read[0], results.read[1]));
  }

  __device__ void write(int64_t place, const Results& results) const {
    Value* gates_out = static_cast<Value*>(work_.gates) + owner_.gate_place(place);
    Value* candidates_out = static_cast<Value*>(work_.candidates) + place;
    float* cell_out = work_.cell + place + rows_.after;
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      if (!owner_.has(cell)) continue;
      const int offset = owner_.offset(cell);
#pragma unroll
      for (int gate = 0; gate < smaller(kGates, Cell::kKept); ++gate)
        gates_out[owner_.gate_offset(cell, gate)] = from_float<Value>(results.kept[cell][gate]);
      if constexpr (Cell::kKept > kGates) candidates_out[offset] = from_float<Value>(results.kept[cell][kGates]);
      if constexpr (Cell::kHasCellState) write_state(cell_out + offset, rows_.size_of_states(), results.state[cell]);
      const int64_t after = place + rows_.after + offset;
      write_hidden<typename T::Numbers>(work_, after, results.hidden[cell]);
      write_read_hidden<T>(work_, after, results.read[cell]);
    }
  }

  const PersistentForward& work_;
  const PersistentSequence& sequence_;
  Cell cell_;
  BlockOwner<T> owner_;
  PassRows rows_;
  int64_t place_;  // of this thread's first cell, in the current step
  StartMarks<Cell, PersistentForward> starts_;
  std::conditional_t<kInputs == StepInputs::kRowsOfTable, TableRows<Value, 1>, NoTableRows> table_rows_;
  uint32_t* hidden_;  // two buffers: parts by kColumnSteps by 32 lanes by two words
  WeightSlice<S> weights_;
  float bias_[2][kGates];
  float bias_aside_[2] = {};
  UnitVectors<Cell> vectors_[2];
  State carried_[T::kCells];
};

template <class T, StepInputs kInputs = StepInputs::kProducts>
__global__ void __launch_bounds__(T::kThreads, 1) block_forward_kernel(const __grid_constant__ PersistentForward work) {
  extern __shared__ uint4 shared[];
  BlockForward<T, kInputs>(work, shared).run();
}

}  // namespace rnnlab::kernels::persistent
