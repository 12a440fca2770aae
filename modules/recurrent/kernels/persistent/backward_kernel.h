// Back-propagation through time for a group of sequences by a cluster. The life of a step in a block: wait until all
// blocks have sent what they add to the gradients of this block's hidden states, add up, take the gates' gradients,
// hand them to all warps of the block, multiply, and send to each block what its units get.
#pragma once

#include "recurrent/kernels/persistent/cluster.h"
#include "recurrent/kernels/persistent/sequence.h"
#include "recurrent/kernels/persistent/weight_slice.h"

namespace rnnlab::kernels::persistent {

template <class T, class Value>
class BackwardBlock {
 public:
  __device__ BackwardBlock(const PersistentBackward& work, uint4* shared, uint64_t* barriers, uint32_t* maxima)
      : work_(work),
        sequence_(work.sequence),
        owner_(work.sequence, static_cast<int>(block_rank())),
        rows_(work.sequence, opposite(work.sequence.order)),
        place_(rows_.first + owner_.place()),
        sums_(shared),
        gates_(shared + 2 * T::kSumVectors),
        maxima_(maxima),
        weights_(
            static_cast<const uint4*>(work.weights) + (owner_.block * T::kWarps + owner_.warp) * S::kPairs * 2 * kLanes,
            shared + 2 * (T::kSumVectors + T::kGateVectors), owner_.warp, owner_.lane),
        turns_(barriers, T::kSumVectors * 16, static_cast<int>(sequence_.num_steps), work.timed_out) {}

  __device__ void run() {
    if (threadIdx.x == 0) turns_.prepare();
    const int num_steps = static_cast<int>(sequence_.num_steps);
    read_last_cell();
    Step now = read_step(place_);
    cluster_barrier();
    for (int step = 0; step < num_steps; ++step, place_ += rows_.stride) run_step(step, now, step + 1 < num_steps);
    write_initial(num_steps);
    cluster_barrier();
  }

 private:
  using S = typename T::BackwardSlice;
  using Operand = OperandOf<Value>;
  static constexpr int kHiddenSize = T::kHiddenSize;
  static constexpr bool kIsScaled = std::is_same_v<Operand, __half>;  // bfloat16 has the range of float32

  // What a step reads, for two sequences of each tile.
  struct Step {
    Value gates[T::kTiles][2][4];
    float cell_before[T::kTiles][2];
    Value output_gradient[T::kTiles][2];
    float cell_gradient[T::kTiles][2];
  };

  __device__ void read_last_cell() {
    const float* cell = work_.cell + place_ + rows_.after;
    for (int tile = 0; tile < T::kTiles; ++tile)
      for (int i = 0; i < 2; ++i) {
        cell_[tile][i] = owner_.has(tile, i) ? cell[Owner<T>::offset(tile, i)] : 0.0f;
        carry_[tile][i] = 0.0f;
      }
  }

  __device__ Step read_step(int64_t place) const {
    const Value* gates = static_cast<const Value*>(work_.gates) + owner_.gate_place(place);
    const float* cell = work_.cell + place + rows_.before;
    const Value* output_gradient = static_cast<const Value*>(work_.output_gradient) + place;
    const float* cell_gradient = work_.cell_gradient + place;
    Step read = {};
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
        const int offset = Owner<T>::offset(tile, i);
#pragma unroll
        for (int gate = 0; gate < 4; ++gate) read.gates[tile][i][gate] = gates[Owner<T>::gate_offset(tile, i, gate)];
        read.cell_before[tile][i] = cell[offset];
        if (work_.output_gradient != nullptr) read.output_gradient[tile][i] = output_gradient[offset];
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
      for (int i = 0; i < 2; ++i) hidden[tile][i] = to_float(read.output_gradient[tile][i]);
    weights_.read_ahead();
    if (step > 0) add_received(step, hidden);

    float gates[T::kTiles][4][2];
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) differentiate(read, tile, i, hidden[tile][i], gates[tile]);

    const float scale = kIsScaled ? common_scale(step, gates) : 1.0f;
    share(step, gates, scale);
    __syncthreads();
    if (has_next) read = read_step(place_ + rows_.stride);
    float sums[S::kRowTiles][T::kTiles][4] = {};
    weights_.template multiply<Operand, T::kTiles>(gates_ + (step & 1) * T::kGateVectors + owner_.lane, sums);
    send_sums(step + 1, sums, 1.0f / scale);
    write(gates);
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

  __device__ void differentiate(const Step& read, int tile, int i, float hidden, float (&gates)[4][2]) {
    const float input = to_float(read.gates[tile][i][0]);
    const float forget = to_float(read.gates[tile][i][1]);
    const float candidate = to_float(read.gates[tile][i][2]);
    const float output = to_float(read.gates[tile][i][3]);
    const float before = read.cell_before[tile][i];
    const float activated = tanh_of(cell_[tile][i]);
    const float cell = carry_[tile][i] + read.cell_gradient[tile][i] + hidden * output * (1.0f - activated * activated);
    gates[0][i] = cell * candidate * input * (1.0f - input);
    gates[1][i] = cell * before * forget * (1.0f - forget);
    gates[2][i] = cell * input * (1.0f - candidate * candidate);
    gates[3][i] = hidden * activated * output * (1.0f - output);
    carry_[tile][i] = cell * forget;
    cell_[tile][i] = before;
  }

  // The power of two that brings the block's largest gradient of this step near the top of float16's range.
  __device__ float common_scale(int step, const float (&gates)[T::kTiles][4][2]) {
    float largest = 0.0f;
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int gate = 0; gate < 4; ++gate)
        largest = fmaxf(largest, fmaxf(fabsf(gates[tile][gate][0]), fabsf(gates[tile][gate][1])));
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

  // Lays the warp's gradients out as a lane of the product takes them: two units of one sequence, all four gates.
  __device__ void share(int step, const float (&gates)[T::kTiles][4][2], float scale) {
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
      uint32_t parts[4];
#pragma unroll
      for (int gate = 0; gate < 4; ++gate)
        parts[gate] = transposed(pack<Operand>(gates[tile][gate][0] * scale, gates[tile][gate][1] * scale));
      gates_[(step & 1) * T::kGateVectors + (tile * T::kWarps + owner_.warp) * kLanes + owner_.lane] =
          make_uint4(parts[0], parts[1], parts[2], parts[3]);
    }
  }

  __device__ void write(const float (&gates)[T::kTiles][4][2]) const {
    Value* gate_gradient = static_cast<Value*>(work_.gate_gradient) + owner_.gate_place(place_);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
#pragma unroll
        for (int gate = 0; gate < 4; ++gate)
          gate_gradient[Owner<T>::gate_offset(tile, i, gate)] = from_float<Value>(gates[tile][gate][i]);
      }
  }

  __device__ void send_sums(int step, const float (&sums)[S::kRowTiles][T::kTiles][4], float unscale) {
    const uint32_t buffer = shared_address(sums_ + (step & 1) * T::kSumVectors + owner_.lane);
#pragma unroll
    for (int row = 0; row < S::kRowTiles; ++row) {
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
        initial_hidden[Owner<T>::offset(tile, i)] = from_float<Value>(hidden[tile][i]);
        initial_cell[Owner<T>::offset(tile, i)] = carry_[tile][i];
      }
  }

  const PersistentBackward& work_;
  const PersistentSequence& sequence_;
  Owner<T> owner_;
  Rows<T> rows_;
  int64_t place_;  // of this thread's unit and first sequence, at the step at hand
  uint4* sums_;    // two buffers: from each block, each tile of 16 units, each tile of sequences, 32 lanes
  uint4* gates_;   // two buffers: each tile of sequences, each warp, 32 lanes
  uint32_t* maxima_;
  WeightSlice<S> weights_;
  Turns turns_;
  float cell_[T::kTiles][2];   // after the step at hand
  float carry_[T::kTiles][2];  // the gradient of that, from the steps behind it
};

template <class T, class Value>
__global__ void __launch_bounds__(T::kThreads, 1) backward_kernel(const __grid_constant__ PersistentBackward work) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2];
  __shared__ uint32_t maxima[2 * T::kWarps];
  BackwardBlock<T, Value>(work, shared, barriers, maxima).run();
#endif
}

}  // namespace rnnlab::kernels::persistent
