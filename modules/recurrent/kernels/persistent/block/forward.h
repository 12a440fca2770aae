// SPDX-License-Identifier: Apache-2.0
// The forward pass of a group of sequences by one block. In each step a warp multiplies the hidden states of the
// previous step, which are in shared memory, writes the results of that step to memory while it waits for the products,
// activates, and shares the hidden states of its 16 units with the other warps.
#pragma once

#include "recurrent/kernels/persistent/block/owner.h"
#include "recurrent/kernels/persistent/block/weights.h"

namespace rnnlab::kernels::persistent {

template <class T>
class BlockForward {
 public:
  __device__ BlockForward(const PersistentForward& work, uint4* shared)
      : work_(work),
        sequence_(work.sequence),
        cell_(work.sequence),
        owner_(work.sequence),
        rows_(work.sequence, work.sequence.order),
        place_(rows_.first + owner_.place()),
        hidden_(shared),
        weights_(static_cast<const uint4*>(work.weights) + owner_.warp * S::kFragments * kLanes,
                 shared + T::kForwardBufferBytes / 16, owner_.warp, owner_.lane) {}

  __device__ void run() {
    read_bias();
    read_initial();
    Inputs inputs = read_inputs(place_);
    Results results;
    __syncthreads();
    for (int step = 0; step < num_steps(); ++step, place_ += rows_.stride) run_step(step, inputs, results);
    write(place_ - rows_.stride, results);
  }

 private:
  using S = typename T::ForwardSlice;
  using Cell = typename T::Cell;
  using Value = typename T::Numbers::Value;
  using Operand = typename T::Numbers::Operand;
  using Functions = FunctionsOf<typename T::Numbers>;
  static constexpr int kGates = T::kGates;
  static constexpr int kKeptRoom = Cell::kKept > 0 ? Cell::kKept : 1;

  // The products of a step's inputs.
  struct Inputs {
    Value of[T::kCells][kGates];
  };

  // Holds the results of a step.
  struct Results {
    float kept[T::kCells][kKeptRoom];  // what the backward pass needs
    float state[T::kCells];            // the cell state, if the cell has one
    float hidden[T::kCells];
  };

  using Sums = float[kGates][T::kTiles][4];

  __device__ int num_steps() const { return static_cast<int>(sequence_.num_steps); }

  // The place in `sums` of a cell, which mma gives to this thread.
  __device__ static constexpr int sum_of(int cell) { return 2 * T::half_of(cell) + T::column_of(cell); }

  __device__ float bias(const void* of, int gate, int half) const {
    if (!owner_.is_in_layer(half)) return 0.0f;
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
    }
  }

  __device__ void read_initial() {
    const int64_t before = place_ + rows_.before;
    for (int cell = 0; cell < T::kCells; ++cell)
      carried_[cell] = owner_.has(cell) ? initial_state(before + owner_.offset(cell)) : 0.0f;
    const Value* hidden = static_cast<const Value*>(work_.hidden) + rows_.first + rows_.before;
    for (int i = static_cast<int>(threadIdx.x); i < T::kHiddenVectors; i += T::kThreads)
      hidden_[i] = vector_of(hidden, i);
  }

  __device__ float initial_state(int64_t place) const {
    if constexpr (Cell::kHasCellState) return work_.cell[place];
    return to_float(static_cast<const Value*>(work_.hidden)[place]);
  }

  // The vector `index` of the initial states: 8 units of one sequence, as a lane of the product takes them.
  __device__ uint4 vector_of(const Value* hidden, int index) const {
    const int lane = index % kLanes;
    const int unit = index / kLanes % T::kColumnSteps * kColumnsAtOnce + lane % 4 * 8;
    const int tile = index / (kLanes * T::kColumnSteps) % T::kTiles;
    const int part = index / (kLanes * T::kColumnSteps * T::kTiles);
    const int column = lane / 4;
    const int64_t sequence = static_cast<int>(blockIdx.x) * T::kSequences + tile * T::kSequencesOfTile +
                             (T::kColumns == 2 ? column : column / 2);
    const bool is_empty = T::kColumns == 1 && column % 2 == 1;
    if (is_empty || sequence >= sequence_.batch_size || unit >= owner_.hidden_size()) return make_uint4(0, 0, 0, 0);
    const Value* units = hidden + sequence * owner_.hidden_size() + unit;
    const auto word = [&](int i) {
      return pack_part<Operand>(part, to_float(units[2 * i]), to_float(units[2 * i + 1]));
    };
    return make_uint4(word(0), word(1), word(2), word(3));
  }

  __device__ Inputs read_inputs(int64_t place) const {
    const Value* gates = static_cast<const Value*>(work_.gates) + owner_.gate_place(place);
    Inputs inputs = {};
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell)
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        if (owner_.has(cell)) inputs.of[cell][gate] = gates[owner_.gate_offset(cell, gate)];
    return inputs;
  }

  // inputs: of this step in, of the next step out. results: of the previous step in, of this step out.
  __device__ void run_step(int step, Inputs& inputs, Results& results) {
    Sums sums = {};
    float aside[T::kCells];
    begin(inputs, sums, aside);
    if (step + 1 < num_steps()) inputs = read_inputs(place_ + rows_.stride);
    weights_.read_ahead();
    multiply_hidden<T>(weights_, hidden_ + (step & 1) * T::kHiddenVectors + owner_.lane, sums);
    if (step > 0) write(place_ - rows_.stride, results);
    activate(sums, aside, results);
    if (step + 1 == num_steps()) return;
    share(hidden_ + ((step + 1) & 1) * T::kHiddenVectors, results);
    __syncthreads();
  }

  // Sets the initial values of the sums of a step: the products of the inputs, except for the last gate of a cell with
  // two sides.
  __device__ void begin(const Inputs& inputs, Sums& sums, float (&aside)[T::kCells]) const {
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      const auto& bias = bias_[T::half_of(cell)];
      auto sum = [&](int gate) -> float& { return sums[gate][T::tile_of(cell)][sum_of(cell)]; };
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) sum(gate) = to_float(inputs.of[cell][gate]) + bias[gate];
      aside[cell] = 0.0f;
      if constexpr (!Cell::kHasTwoSides) continue;
      sum(kGates - 1) = bias[kGates - 1];
      aside[cell] = to_float(inputs.of[cell][kGates - 1]) + bias_aside_[T::half_of(cell)];
    }
  }

  __device__ void activate(const Sums& sums, const float (&aside)[T::kCells], Results& results) {
#pragma unroll
    for (int cell = 0; cell < T::kCells; ++cell) {
      float gates[kGates];
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) gates[gate] = sums[gate][T::tile_of(cell)][sum_of(cell)];
      results.hidden[cell] = cell_.template forward<Functions>(gates, aside[cell], carried_[cell], results.kept[cell]);
      if constexpr (Cell::kHasCellState) results.state[cell] = carried_[cell];
    }
  }

  // Writes the hidden states of the warp's units to shared memory as a lane of the product takes them. After the
  // transposition a lane has two units of one sequence.
  __device__ void share(uint4* buffer, const Results& results) const {
    const int column_step = owner_.warp / 2;
#pragma unroll
    for (int part = 0; part < T::kParts; ++part)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int first = 2 * T::kColumns * tile + half;  // the cell of the first column
          const float second = T::kColumns == 2 ? results.hidden[first + 2 * (T::kColumns - 1)] : 0.0f;
          const uint32_t word = transposed(pack_part<Operand>(part, results.hidden[first], second));
          const int octet = owner_.warp % 2 * 2 + half;  // of the 32 units of a column step
          uint4* vector = buffer + ((part * T::kTiles + tile) * T::kColumnSteps + column_step) * kLanes +
                          (owner_.lane & ~3) + octet;
          reinterpret_cast<uint32_t*>(vector)[owner_.lane & 3] = word;
        }
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
      if constexpr (Cell::kHasTwoSides) candidates_out[offset] = from_float<Value>(results.kept[cell][kGates]);
      if constexpr (Cell::kHasCellState) cell_out[offset] = results.state[cell];
      write_hidden<typename T::Numbers>(work_, place + rows_.after + offset, results.hidden[cell]);
    }
  }

  const PersistentForward& work_;
  const PersistentSequence& sequence_;
  Cell cell_;
  BlockOwner<T> owner_;
  PassRows rows_;
  int64_t place_;  // of this thread's first cell, in the current step
  uint4* hidden_;  // two buffers: parts by tiles of sequences by kColumnSteps by 32 lanes
  WeightSlice<S> weights_;
  float bias_[2][kGates];
  float bias_aside_[2] = {};
  float carried_[T::kCells];  // the cell state, or the hidden state of a cell that has none
};

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1) block_forward_kernel(const __grid_constant__ PersistentForward work) {
  extern __shared__ uint4 shared[];
  BlockForward<T>(work, shared).run();
}

}  // namespace rnnlab::kernels::persistent
