// Back-propagation through time for a group of sequences by a cluster. The life of a step in a block: wait until all
// blocks have sent what they add to the gradients of this block's hidden states, add up, take the gates' gradients,
// hand them to all warps of the block, multiply, and send to each block what its units get.
#pragma once

#include "recurrent/kernels/persistent/cluster.h"
#include "recurrent/kernels/persistent/products.h"
#include "recurrent/kernels/persistent/sequence.h"

namespace rnnlab::kernels::persistent {

template <class T>
class BackwardBlock {
 public:
  __device__ BackwardBlock(const PersistentBackward& work, uint4* shared, uint64_t* barriers, uint32_t* maxima)
      : work_(work),
        sequence_(work.sequence),
        cell_(work.sequence),
        owner_(work.sequence, static_cast<int>(block_rank())),
        rows_(work.sequence, opposite(work.sequence.order)),
        place_(rows_.first + owner_.place()),
        sums_(shared),
        gates_(shared + 2 * T::kSumVectors),
        maxima_(maxima),
        weights_(
            static_cast<const uint4*>(work.weights) + (owner_.block * T::kWarps + owner_.warp) * S::kFragments * kLanes,
            shared + 2 * (T::kSumVectors + T::kGateVectors), owner_.warp, owner_.lane),
        turns_(barriers, T::kSumVectors * 16, static_cast<int>(sequence_.num_steps), work.timed_out) {}

  __device__ void run() {
    if (threadIdx.x == 0) turns_.prepare();
    const int num_steps = static_cast<int>(sequence_.num_steps);
    begin();
    Step now = read_step(place_);
    cluster_barrier();
    for (int step = 0; step < num_steps; ++step, place_ += rows_.stride) run_step(step, now, step + 1 < num_steps);
    write_initial(num_steps);
    cluster_barrier();
  }

 private:
  using S = typename T::BackwardSlice;
  using Cell = typename T::Cell;
  using Value = typename T::Numbers::Value;
  using Operand = typename T::Numbers::Operand;
  static constexpr int kGates = T::kGates;
  static constexpr int kKeptRoom = Cell::kKept > 0 ? Cell::kKept : 1;

  // What a step reads, for two sequences of each tile.
  struct Step {
    Value kept[T::kTiles][2][kKeptRoom];
    float state[T::kTiles][2];
    Value output_gradient[T::kTiles][2];
    float cell_gradient[T::kTiles][2];
  };
  // Gradients of the gates before activation: of R h + b, and of W x + b of the last one where that is another.
  struct Gradients {
    float gates[T::kTiles][2][kGates];
    float aside[T::kTiles][2];
  };

  __device__ void begin() {
    for (int tile = 0; tile < T::kTiles; ++tile)
      for (int i = 0; i < 2; ++i) {
        carried_[tile][i] = {};
        if constexpr (Cell::kHasCellState)
          if (owner_.has(tile, i)) carried_[tile][i].cell = work_.cell[place_ + rows_.after + owner_.offset(tile, i)];
      }
  }

  __device__ float state_at(int64_t place) const {
    place += Cell::kReadsStateAfter ? rows_.after : rows_.before;
    if constexpr (Cell::kHasCellState) return work_.cell[place];
    return to_float(static_cast<const Value*>(work_.hidden)[place]);
  }

  __device__ Step read_step(int64_t place) const {
    const Value* gates = static_cast<const Value*>(work_.gates) + owner_.gate_place(place);
    const Value* candidates = static_cast<const Value*>(work_.candidates) + place;
    const Value* output_gradient = static_cast<const Value*>(work_.output_gradient) + place;
    const float* cell_gradient = work_.cell_gradient + place;
    Step read = {};
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
        const int offset = owner_.offset(tile, i);
#pragma unroll
        for (int gate = 0; gate < smaller(kGates, Cell::kKept); ++gate)
          read.kept[tile][i][gate] = gates[owner_.gate_offset(tile, i, gate)];
        if constexpr (Cell::kHasTwoSides) read.kept[tile][i][kGates] = candidates[offset];
        read.state[tile][i] = state_at(place + offset);
        if (work_.output_gradient != nullptr) read.output_gradient[tile][i] = output_gradient[offset];
        if constexpr (Cell::kHasCellState)
          if (work_.cell_gradient != nullptr) read.cell_gradient[tile][i] = cell_gradient[offset];
      }
    return read;
  }

  // read: of this step in, of the next one out.
  __device__ void run_step(int step, Step& read, bool has_next) {
    float hidden[T::kTiles][2];  // gradients of the hidden states after this step
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        hidden[tile][i] = to_float(read.output_gradient[tile][i]) + Cell::hidden_gradient_of(carried_[tile][i]);
    weights_.read_ahead();
    if (step > 0) add_received(step, hidden);

    Gradients gradients;
    differentiate(read, hidden, gradients);
    const float scale = T::Numbers::kIsScaled ? common_scale(step, gradients) : 1.0f;
    share(step, gradients, scale);
    __syncthreads();
    if (has_next) read = read_step(place_ + rows_.stride);
    float sums[T::kRowTiles][T::kTiles][4] = {};
    multiply_backward<T>(weights_, gates_ + (step & 1) * T::kGateVectors + owner_.lane, sums);
    send_sums(step + 1, sums, 1.0f / scale);
    write(gradients);
  }

  // What all blocks have sent for this thread's unit.
  __device__ void add_received(int step, float (&hidden)[T::kTiles][2]) {
    turns_.wait(step);
    const uint4* place = sums_ + (step & 1) * T::kSumVectors + owner_.warp / 2 * T::kTiles * kLanes + owner_.lane;
#pragma unroll
    for (int block = 0; block < T::kBlocks; ++block)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile) {
        const uint4* vector = place + (block * T::kUnitTiles * T::kTiles + tile) * kLanes;
        const float2 part = reinterpret_cast<const float2*>(vector)[owner_.warp & 1];
        hidden[tile][0] += part.x;
        hidden[tile][1] += part.y;
      }
  }

  __device__ void differentiate(const Step& read, const float (&hidden)[T::kTiles][2], Gradients& gradients) {
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float kept[kKeptRoom];
#pragma unroll
        for (int j = 0; j < Cell::kKept; ++j) kept[j] = to_float(read.kept[tile][i][j]);
        cell_.backward(kept, read.state[tile][i], hidden[tile][i], read.cell_gradient[tile][i], carried_[tile][i],
                       gradients.gates[tile][i], gradients.aside[tile][i]);
      }
  }

  // The power of two that brings the block's largest gradient of this step near the top of float16's range.
  __device__ float common_scale(int step, const Gradients& gradients) {
    float largest = 0.0f;
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        largest = fmaxf(largest, fmaxf(fabsf(gradients.gates[tile][0][gate]), fabsf(gradients.gates[tile][1][gate])));
    uint32_t* maxima = maxima_ + (step & 1) * T::kWarps;
    const uint32_t of_warp = __reduce_max_sync(~0u, __float_as_uint(largest));
    if (owner_.lane == 0) maxima[owner_.warp] = of_warp;
    __syncthreads();
    uint32_t of_block = maxima[0];
#pragma unroll
    for (int warp = 1; warp < T::kWarps; ++warp) of_block = max(of_block, maxima[warp]);
    const int exponent = max(static_cast<int>(of_block >> 23) - 127, -110);
    return __uint_as_float(static_cast<uint32_t>(127 + 13 - exponent) << 23);
  }

  // Lays the warp's gradients out as a lane of the product takes them: two units of one sequence, a word a gate.
  __device__ void share(int step, const Gradients& gradients, float scale) {
#pragma unroll
    for (int part = 0; part < T::kParts; ++part)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile) {
        const auto& [first, second] = gradients.gates[tile];
        uint32_t words[4] = {};
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate)
          words[gate] = transposed(pack_part<Operand>(part, first[gate] * scale, second[gate] * scale));
        const int place = ((part * T::kTiles + tile) * T::kWarps + owner_.warp) * kLanes + owner_.lane;
        gates_[(step & 1) * T::kGateVectors + place] = make_uint4(words[0], words[1], words[2], words[3]);
      }
  }

  __device__ void write(const Gradients& gradients) const {
    Value* input_side = static_cast<Value*>(work_.input_side) + owner_.gate_place(place_);
    Value* recurrent_side = static_cast<Value*>(work_.recurrent_side) + owner_.gate_place(place_);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate) {
          const int offset = owner_.gate_offset(tile, i, gate);
          const bool differs = Cell::kHasTwoSides && gate == kGates - 1;
          const float of_gate = gradients.gates[tile][i][gate];
          input_side[offset] = from_float<Value>(differs ? gradients.aside[tile][i] : of_gate);
          if constexpr (Cell::kHasTwoSides) recurrent_side[offset] = from_float<Value>(of_gate);
        }
      }
  }

  __device__ void send_sums(int step, const float (&sums)[T::kRowTiles][T::kTiles][4], float unscale) {
    const uint32_t buffer = shared_address(sums_ + (step & 1) * T::kSumVectors + owner_.lane);
#pragma unroll
    for (int row = 0; row < T::kRowTiles; ++row) {
      const int unit_tile = T::unit_tile(owner_.block, owner_.warp, row);
      const uint32_t receiver = unit_tile / T::kUnitTiles;
      const int place = (owner_.block * T::kUnitTiles + unit_tile % T::kUnitTiles) * T::kTiles * kLanes;
      const uint32_t address = address_in(receiver, buffer + place * 16);
      const uint32_t barrier = address_in(receiver, turns_.barrier_of(step));
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile) {
        const float* of = sums[row][tile];
        send(address + tile * kLanes * 16,
             make_uint4(__float_as_uint(of[0] * unscale), __float_as_uint(of[1] * unscale),
                        __float_as_uint(of[2] * unscale), __float_as_uint(of[3] * unscale)),
             barrier);
      }
    }
  }

  __device__ void write_initial(int num_steps) {
    float hidden[T::kTiles][2] = {};
    add_received(num_steps, hidden);
    Value* initial_hidden = static_cast<Value*>(work_.initial_hidden) + owner_.place();
    float* initial_cell = work_.initial_cell + owner_.place();
    for (int tile = 0; tile < T::kTiles; ++tile)
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
        const int offset = owner_.offset(tile, i);
        initial_hidden[offset] = from_float<Value>(hidden[tile][i] + Cell::hidden_gradient_of(carried_[tile][i]));
        if constexpr (Cell::kHasCellState) initial_cell[offset] = carried_[tile][i].gradient;
      }
  }

  const PersistentBackward& work_;
  const PersistentSequence& sequence_;
  Cell cell_;
  Owner<T> owner_;
  PassRows rows_;
  int64_t place_;  // of this thread's unit and first sequence, at the step at hand
  uint4* sums_;    // two buffers: from each block, each tile of 16 units, each tile of sequences, 32 lanes
  uint4* gates_;   // two buffers: each part, each tile of sequences, each warp, 32 lanes
  uint32_t* maxima_;
  WeightSlice<S> weights_;
  Turns turns_;
  typename Cell::Carried carried_[T::kTiles][2];
};

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1) backward_kernel(const __grid_constant__ PersistentBackward work) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2];
  __shared__ uint32_t maxima[2 * T::kWarps];
  BackwardBlock<T>(work, shared, barriers, maxima).run();
#endif
}

}  // namespace rnnlab::kernels::persistent
