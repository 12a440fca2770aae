// The forward pass of a group of sequences by a cluster. The life of a step in a warp: ask for the next step's inputs,
// wait until the hidden states of the step before are there from all blocks, multiply, activate, send the own 8 units'
// hidden states to all blocks, and only then write to memory.
#pragma once

#include "recurrent/kernels/persistent/cluster.h"
#include "recurrent/kernels/persistent/sequence.h"
#include "recurrent/kernels/persistent/weight_slice.h"

namespace rnnlab::kernels::persistent {

template <class T, class Value>
class ForwardBlock {
 public:
  __device__ ForwardBlock(const PersistentForward& work, uint4* shared, uint64_t* barriers)
      : work_(work),
        sequence_(work.sequence),
        owner_(work.sequence, static_cast<int>(block_rank())),
        rows_(work.sequence, work.sequence.order),
        place_(rows_.first + owner_.place()),
        hidden_(shared),
        weights_(
            static_cast<const uint4*>(work.weights) + (owner_.block * T::kWarps + owner_.warp) * S::kPairs * 2 * kLanes,
            shared + 2 * T::kHiddenVectors, owner_.warp, owner_.lane),
        turns_(barriers, T::kHiddenVectors * 16, static_cast<int>(sequence_.num_steps) - 1, work.timed_out) {}

  __device__ void run() {
    if (threadIdx.x == 0) turns_.prepare();
    read_initial();
    Inputs inputs = read_inputs(place_);
    cluster_barrier();
    const int num_steps = static_cast<int>(sequence_.num_steps);
    for (int step = 0; step < num_steps; ++step, place_ += rows_.stride) run_step(step, inputs, step + 1 < num_steps);
    cluster_barrier();
  }

 private:
  using S = typename T::ForwardSlice;
  using Operand = OperandOf<Value>;
  static constexpr int kHiddenSize = T::kHiddenSize;

  // Of a step: products of the inputs of both sequences of each tile.
  struct Inputs {
    Value of[T::kTiles][2][4];
  };

  __device__ void read_initial() {
    const Value* bias_ih = static_cast<const Value*>(work_.bias_ih);
    const Value* bias_hh = static_cast<const Value*>(work_.bias_hh);
    for (int gate = 0; gate < 4; ++gate)
      bias_[gate] =
          to_float(bias_ih[gate * kHiddenSize + owner_.unit]) + to_float(bias_hh[gate * kHiddenSize + owner_.unit]);
    const float* cell = work_.cell + place_ + rows_.before;
    for (int tile = 0; tile < T::kTiles; ++tile)
      for (int i = 0; i < 2; ++i) cell_[tile][i] = owner_.has(tile, i) ? cell[Owner<T>::offset(tile, i)] : 0.0f;
    const Value* hidden = static_cast<const Value*>(work_.hidden) + rows_.first + rows_.before;
    for (int i = static_cast<int>(threadIdx.x); i < T::kHiddenVectors; i += T::kThreads)
      hidden_[i] = vector_of(hidden, i);
  }

  // 8 units of one sequence, as a lane of the product takes them.
  __device__ uint4 vector_of(const Value* hidden, int index) const {
    const int lane = index % kLanes;
    const int column_pair = index / kLanes % S::kColumnPairs;
    const int tile = index / (kLanes * S::kColumnPairs);
    const int64_t sequence =
        static_cast<int>(blockIdx.x) / T::kBlocks * T::kSequences + tile * kSequencesPerTile + lane / 4;
    if (sequence >= sequence_.batch_size) return make_uint4(0, 0, 0, 0);
    const Value* units = hidden + sequence * kHiddenSize + column_pair * kPairColumns + lane % 4 * 8;
    float of[8];
    for (int i = 0; i < 8; ++i) of[i] = to_float(units[i]);
    return make_uint4(pack<Operand>(of[0], of[1]), pack<Operand>(of[2], of[3]), pack<Operand>(of[4], of[5]),
                      pack<Operand>(of[6], of[7]));
  }

  __device__ Inputs read_inputs(int64_t place) const {
    const Value* gates = static_cast<const Value*>(work_.gates) + owner_.gate_place(place);
    Inputs inputs = {};
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int gate = 0; gate < 4; ++gate)
          if (owner_.has(tile, i)) inputs.of[tile][i][gate] = gates[Owner<T>::gate_offset(tile, i, gate)];
    return inputs;
  }

  // inputs: of this step in, of the next one out.
  __device__ void run_step(int step, Inputs& inputs, bool has_next) {
    float gates[2][T::kTiles][4];  // rows (i, f) and (g, o): see tiles.h
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int gate = 0; gate < 4; ++gate)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          gates[gate / 2][tile][gate % 2 * 2 + i] = to_float(inputs.of[tile][i][gate]) + bias_[gate];
    if (has_next) inputs = read_inputs(place_ + rows_.stride);
    weights_.read_ahead();
    if (step > 0) turns_.wait(step);
    weights_.template multiply<Operand, T::kTiles>(hidden_ + (step & 1) * T::kHiddenVectors + owner_.lane, gates);

    float hidden[T::kTiles][2];
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) hidden[tile][i] = activate(gates[0][tile], gates[1][tile], i, cell_[tile][i]);
      if (has_next) send_hidden(step + 1, tile, pack<Operand>(hidden[tile][0], hidden[tile][1]));
    }
    write(gates, hidden);
  }

  // i f g o in place; moves the cell state on.
  __device__ static float activate(float (&input_forget)[4], float (&candidate_output)[4], int i, float& cell) {
    input_forget[i] = sigmoid(input_forget[i]);
    input_forget[2 + i] = sigmoid(input_forget[2 + i]);
    candidate_output[i] = tanh_of(candidate_output[i]);
    candidate_output[2 + i] = sigmoid(candidate_output[2 + i]);
    cell = input_forget[2 + i] * cell + input_forget[i] * candidate_output[i];
    return candidate_output[2 + i] * tanh_of(cell);
  }

  // own: this thread's unit for two sequences. The four lanes of a row gather the warp's 8 units of one sequence and
  // share out the receivers.
  __device__ void send_hidden(int step, int tile, uint32_t own) {
    const uint32_t part = transposed(own);
    const int first = owner_.lane & ~3;
    const uint4 units = make_uint4(__shfl_sync(~0u, part, first), __shfl_sync(~0u, part, first + 1),
                                   __shfl_sync(~0u, part, first + 2), __shfl_sync(~0u, part, first + 3));
    const int warp = owner_.block * T::kWarps + owner_.warp;  // of the cluster
    const uint4* place =
        hidden_ + (step & 1) * T::kHiddenVectors + (tile * S::kColumnPairs + warp / 4) * kLanes + first + warp % 4;
#pragma unroll
    for (int i = 0; i < (T::kBlocks + 3) / 4; ++i) {
      const uint32_t receiver = (owner_.lane & 3) + 4 * i;
      if (receiver < T::kBlocks)
        send(address_in(receiver, shared_address(place)), units, address_in(receiver, turns_.barrier_of(step)));
    }
  }

  __device__ void write(const float (&gates)[2][T::kTiles][4], const float (&hidden)[T::kTiles][2]) const {
    Value* gates_out = static_cast<Value*>(work_.gates) + owner_.gate_place(place_);
    Value* hidden_out = static_cast<Value*>(work_.hidden) + place_ + rows_.after;
    float* cell_out = work_.cell + place_ + rows_.after;
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!owner_.has(tile, i)) continue;
#pragma unroll
        for (int gate = 0; gate < 4; ++gate)
          gates_out[Owner<T>::gate_offset(tile, i, gate)] = from_float<Value>(gates[gate / 2][tile][gate % 2 * 2 + i]);
        hidden_out[Owner<T>::offset(tile, i)] = from_float<Value>(hidden[tile][i]);
        cell_out[Owner<T>::offset(tile, i)] = cell_[tile][i];
      }
  }

  const PersistentForward& work_;
  const PersistentSequence& sequence_;
  Owner<T> owner_;
  Rows<T> rows_;
  int64_t place_;  // of this thread's unit and first sequence, at the step at hand
  uint4* hidden_;  // two buffers
  WeightSlice<S> weights_;
  Turns turns_;
  float bias_[4];
  float cell_[T::kTiles][2];
};

template <class T, class Value>
__global__ void __launch_bounds__(T::kThreads, 1) forward_kernel(const __grid_constant__ PersistentForward work) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2];
  ForwardBlock<T, Value>(work, shared, barriers).run();
#endif
}

}  // namespace rnnlab::kernels::persistent
