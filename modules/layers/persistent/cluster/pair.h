// SPDX-License-Identifier: Apache-2.0
// Kernels of a pair of layers: half of a block's warps have units of the lower layer, and the other half the same units
// of the upper layer. The upper layer works a step or two behind, so both layers compute at the same time; in the
// backward pass the lower layer does. Hidden states, and sums for their gradients, go from layer to layer as they go
// from block to block: through shared memory. Each half waits only for what it reads, and the half that is ahead waits
// before it overwrites what the other half may not have read. All weights are in registers. Left out: numbers of two
// parts, whose weights would not fit there.
#pragma once

#include "layers/persistent/cluster/backward.h"
#include "layers/persistent/cluster/forward.h"

namespace rnnlab::kernels::persistent {

// Holds the dropout of a thread's unit in a step, which is read a step ahead. Bytes are not converted before they are
// used, because that would wait for them.
template <class T>
class DropoutFactors {
 public:
  // place: of the thread's unit and first sequence, in the step.
  __device__ DropoutFactors(const DropoutPass& dropout, const Owner<T>& owner, int64_t place) : scale_(dropout.scale) {
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        kept_[tile][i] = 1;
        if (dropout.kept != nullptr && owner.has(tile, i)) kept_[tile][i] = dropout.kept[place + owner.offset(tile, i)];
      }
  }

  __device__ float of(int tile, int i) const { return kept_[tile][i] != 0 ? scale_ : 0.0f; }

 private:
  float scale_;
  uint8_t kept_[T::kTiles][2];
};

// The shared memory of a block in the forward pass: two buffers each of the hidden states of both layers, and of the
// inputs of the upper layer; and their barriers. The inputs of step s are read as those of step s + 1, because steps of
// barriers begin with 1.
template <class T>
struct PairForwardMemory {
  static_assert(T::kTeams == 1 && T::ForwardSlice::kInRegisters == T::ForwardSlice::kFragments);
  uint4 *lower, *upper, *inputs;
  ReceiveBarriers of_lower, of_upper, of_inputs;

  __device__ PairForwardMemory(const PersistentPairForward& work, uint4* shared, uint64_t* barriers)
      : lower(shared), upper(lower + 2 * T::kHiddenVectors), inputs(upper + 2 * T::kHiddenVectors) {
    constexpr uint32_t kBytes = T::kHiddenVectors * 16;
    const int num_steps = static_cast<int>(work.lower.sequence.num_steps);
    of_lower = ReceiveBarriers(barriers, kBytes, num_steps - 1, work.lower.timed_out);
    of_upper = ReceiveBarriers(barriers + 2, kBytes, num_steps - 1, work.lower.timed_out);
    of_inputs = ReceiveBarriers(barriers + 4, kBytes, num_steps, work.lower.timed_out);
  }

  __device__ uint4* inputs_of(int step) const { return inputs + ((step + 1) & 1) * T::kHiddenVectors; }
};

template <class T, StepInputs kInputs>
class LowerForward : public ForwardBlock<T, kInputs> {
 public:
  __device__ LowerForward(const PersistentPairForward& work, const PairForwardMemory<T>& memory, int thread)
      : Base(work.lower, memory.lower, /*weights=*/nullptr, thread),
        memory_(memory),
        of_upper_(memory.of_upper),
        dropout_(work.dropout),
        dropped_(static_cast<Value*>(work.dropped)) {
    this->received_[0] = memory.of_lower;
  }

  __device__ void run() {
    this->prepare();
    Inputs inputs = this->read_inputs(0, this->place_);
    Factors factors(dropout_, this->owner_, this->place_);
    cluster_barrier();
    for (int step = 0; step < this->num_steps(); ++step, this->place_ += this->rows_.stride)
      run_step(step, inputs, factors);
    cluster_barrier();
  }

 private:
  using Base = ForwardBlock<T, kInputs>;
  using Factors = DropoutFactors<T>;
  using Value = typename Base::Value;
  using Inputs = typename Base::Inputs;
  using Results = typename Base::Results;

  // inputs, factors: of this step in, of the next step out.
  __device__ void run_step(int step, Inputs& inputs, Factors& factors) {
    float sums[T::kGateTiles][T::kTiles][4] = {};
    float aside[T::kTiles][2];
    this->begin(inputs, sums, aside);
    const Factors own_factors = factors;
    if (step + 1 < this->num_steps()) {
      inputs = this->read_inputs(step + 1, this->place_ + this->rows_.stride);
      factors = Factors(dropout_, this->owner_, this->place_ + this->rows_.stride);
    }
    if (step > 0) this->received_[0].wait(step, this->owner_.thread() == 0);
    multiply_forward<T>(this->weights_, this->hidden_ + (step & 1) * T::kHiddenVectors + this->owner_.lane, sums);
    Results results;
    this->activate(step, this->received_[0], sums, aside, results);
    send_inputs(step, results, own_factors);
    this->write(this->place_, results);
  }

  // The buffer has the inputs of step - 2. All upper halves have read them if they have sent their results of that
  // step.
  __device__ void send_inputs(int step, const Results& results, const Factors& factors) {
    if (step > 1) of_upper_.wait(step - 1, /*counts=*/false);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
      float inputs[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        inputs[i] = results.hidden[tile][i] * factors.of(tile, i);
        if (dropped_ != nullptr && this->owner_.has(tile, i))
          dropped_[this->place_ + this->owner_.offset(tile, i)] = from_float<Value>(inputs[i]);
      }
      this->send_hidden(memory_.inputs_of(step), memory_.of_inputs.barrier_of(step + 1), tile, inputs);
    }
  }

  const PairForwardMemory<T>& memory_;
  ReceiveBarriers of_upper_;
  const DropoutPass& dropout_;
  Value* dropped_;
};

template <class T>
class UpperForward : public ForwardBlock<T> {
 public:
  __device__ UpperForward(const PersistentPairForward& work, const PairForwardMemory<T>& memory, int thread)
      : Base(work.upper, memory.upper, /*weights=*/nullptr, thread),
        memory_(memory),
        of_inputs_(memory.of_inputs),
        weights_of_inputs_(this->packed_weights(work.input_weights), nullptr, this->owner_.warp, this->owner_.lane) {
    this->received_[0] = memory.of_upper;
  }

  __device__ void run() {
    prepare();
    cluster_barrier();
    Products products;
    multiply_inputs(0, products);
    for (int step = 0; step < this->num_steps(); ++step, this->place_ += this->rows_.stride) run_step(step, products);
    cluster_barrier();
  }

 private:
  using Base = ForwardBlock<T>;
  using Results = typename Base::Results;
  using Products = float[T::kTiles][2][T::kGates];

  // Called before a barrier of the cluster.
  __device__ void prepare() {
    if (this->owner_.thread() == 0) {
      this->received_[0].prepare();
      of_inputs_.prepare();
    }
    this->read_bias();
    if (this->work_.begins_with_zeros)
      this->write_zeros(this->place_ + this->rows_.before);
    else
      this->read_initial();
  }

  // products: of this step in, of the next step out. They are computed while hidden states are on their way.
  __device__ void run_step(int step, Products& products) {
    float sums[T::kGateTiles][T::kTiles][4] = {};
    float aside[T::kTiles][2];
    this->begin_with(products, sums, aside);
    if (step > 0) this->received_[0].wait(step, this->owner_.thread() == 0);
    multiply_forward<T>(this->weights_, this->hidden_ + (step & 1) * T::kHiddenVectors + this->owner_.lane, sums);
    Results results;
    this->activate(step, this->received_[0], sums, aside, results);
    this->write(this->place_, results);
    if (step + 1 < this->num_steps()) multiply_inputs(step + 1, products);
  }

  __device__ void multiply_inputs(int step, Products& products) {
    of_inputs_.wait(step + 1, this->owner_.thread() == 0);
    float sums[T::kGateTiles][T::kTiles][4] = {};
    multiply_forward<T>(weights_of_inputs_, memory_.inputs_of(step) + this->owner_.lane, sums);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int gate = 0; gate < T::kGates; ++gate) products[tile][i][gate] = sums[gate / 2][tile][gate % 2 * 2 + i];
  }

  const PairForwardMemory<T>& memory_;
  ReceiveBarriers of_inputs_;
  WeightSlice<typename T::ForwardSlice> weights_of_inputs_;
};

template <class T, StepInputs kInputs = StepInputs::kProducts>
__global__ void __launch_bounds__(2 * T::kThreads, 1)
    pair_forward_kernel(const __grid_constant__ PersistentPairForward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[6];
  const PairForwardMemory<T> memory(work, shared, barriers);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < T::kThreads)
    LowerForward<T, kInputs>(work, memory, thread).run();
  else
    UpperForward<T>(work, memory, thread - T::kThreads).run();
}

// The shared memory of a block in the backward pass: two buffers each of the sums for the gradients of both layers'
// hidden states, of the sums that the upper layer adds to those of the lower layer, and of both layers' gates'
// gradients. What the upper layer sends in step s is read as that of step s + 1.
template <class T>
struct PairBackwardMemory {
  static_assert(T::kTeams == 1 && T::BackwardSlice::kInRegisters == T::BackwardSlice::kFragments);
  uint4 *lower, *upper, *from_upper, *lower_gates, *upper_gates;
  ReceiveBarriers of_lower, of_upper, of_from_upper;

  __device__ PairBackwardMemory(const PersistentPairBackward& work, uint4* shared, uint64_t* barriers)
      : lower(shared),
        upper(lower + 2 * T::kSumVectors),
        from_upper(upper + 2 * T::kSumVectors),
        lower_gates(from_upper + 2 * T::kSumVectors),
        upper_gates(lower_gates + 2 * T::kGateVectors) {
    constexpr uint32_t kBytes = T::kSumVectors * 16;
    const int num_steps = static_cast<int>(work.lower.sequence.num_steps);
    of_lower = ReceiveBarriers(barriers, kBytes, num_steps, work.lower.timed_out);
    of_upper = ReceiveBarriers(barriers + 2, kBytes, num_steps, work.lower.timed_out);
    of_from_upper = ReceiveBarriers(barriers + 4, kBytes, num_steps, work.lower.timed_out);
  }
};

template <class T>
class UpperBackward : public BackwardBlock<T, /*kWritesHalf=*/false> {
 public:
  __device__ UpperBackward(const PersistentPairBackward& work, const PairBackwardMemory<T>& memory, uint32_t* maxima,
                           int thread)
      : Base(work.upper, memory.upper, memory.upper_gates, /*weights=*/nullptr, maxima, thread, kFirstBarrier + 1),
        memory_(memory),
        of_lower_(memory.of_lower),
        weights_of_inputs_(this->packed_weights(work.input_weights), nullptr, this->owner_.warp, this->owner_.lane) {
    this->received_[0] = memory.of_upper;
  }

  // The lower layer's sums are computed while those of this layer are on their way.
  __device__ void run() {
    this->run_steps([this](int step, Inputs& inputs) {
      multiply_for_lower(step, this->template run_step<kHasTwoSides>(step, inputs));
    });
  }

 private:
  using Base = BackwardBlock<T, /*kWritesHalf=*/false>;
  using Inputs = typename Base::Inputs;
  static constexpr bool kHasTwoSides = T::Cell::kHasTwoSides;

  // The buffer has the sums of step - 2. All lower halves have read them if they have sent their results of that step.
  __device__ void multiply_for_lower(int step, float unscale) {
    constexpr int kOddWord = kHasTwoSides ? T::kGates : T::kGates - 1;
    float sums[T::kRowTiles][T::kTiles][4] = {};
    multiply_backward<T, kOddWord>(weights_of_inputs_, this->gates_of(step, 0), sums);
    if (step > 1) of_lower_.wait(step - 1, /*counts=*/false);
    this->send_sums(memory_.from_upper + this->buffer_of(step + 1, 0), memory_.of_from_upper.barrier_of(step + 1), sums,
                    unscale);
  }

  const PairBackwardMemory<T>& memory_;
  ReceiveBarriers of_lower_;
  WeightSlice<typename T::BackwardSlice> weights_of_inputs_;
};

template <class T>
class LowerBackward : public BackwardBlock<T, /*kWritesHalf=*/false> {
 public:
  __device__ LowerBackward(const PersistentPairBackward& work, const PairBackwardMemory<T>& memory, uint32_t* maxima,
                           int thread)
      : Base(work.lower, memory.lower, memory.lower_gates, /*weights=*/nullptr, maxima, thread, kFirstBarrier),
        from_upper_(memory.from_upper),
        of_from_upper_(memory.of_from_upper),
        dropout_(work.dropout) {
    this->received_[0] = memory.of_lower;
  }

  __device__ void run() {
    this->begin();
    if (this->owner_.thread() == 0) of_from_upper_.prepare();
    Inputs inputs = this->read_inputs(0, this->place_);
    Factors factors(dropout_, this->owner_, this->place_);
    cluster_barrier();
    for (int step = 0; step < this->num_steps(); ++step, this->place_ += this->rows_.stride)
      run_step(step, inputs, factors);
    this->finish(this->received_[0]);
    cluster_barrier();
  }

 private:
  using Base = BackwardBlock<T, /*kWritesHalf=*/false>;
  using Inputs = typename Base::Inputs;
  using Gradients = typename Base::Gradients;
  using Factors = DropoutFactors<T>;

  // inputs, factors: of this step in, of the next step out.
  __device__ void run_step(int step, Inputs& inputs, Factors& factors) {
    float hidden[T::kTiles][2];
    this->begin_hidden(inputs, hidden);
    add_from_upper(step, factors, hidden);
    if (step > 0)
      this->add_received(step, this->received_[0], hidden);
    else if (this->work_.later_hidden != nullptr)
      this->add_later(hidden);
    Gradients gradients;
    this->differentiate(inputs, hidden, gradients);
    const float scale = T::Numbers::kIsScaled ? this->common_scale(step, gradients) : 1.0f;
    this->share(step, gradients, scale);
    this->barrier_of_team();
    if (step + 1 < this->num_steps()) {
      inputs = this->read_inputs(step + 1, this->place_ + this->rows_.stride);
      factors = Factors(dropout_, this->owner_, this->place_ + this->rows_.stride);
    }
    this->multiply_and_send(step, 0, 1.0f / scale);
    this->write(step, gradients);
  }

  __device__ void add_from_upper(int step, const Factors& factors, float (&hidden)[T::kTiles][2]) {
    of_from_upper_.wait(step + 1, this->owner_.thread() == 0);
    float sums[T::kTiles][2] = {};
    this->add_sums(from_upper_, step + 1, sums);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) hidden[tile][i] += sums[tile][i] * factors.of(tile, i);
  }

  const uint4* from_upper_;
  ReceiveBarriers of_from_upper_;
  const DropoutPass& dropout_;
};

template <class T>
__global__ void __launch_bounds__(2 * T::kThreads, 1)
    pair_backward_kernel(const __grid_constant__ PersistentPairBackward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[6];
  __shared__ uint32_t maxima[2][2 * T::kWarps];
  const PairBackwardMemory<T> memory(work, shared, barriers);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < T::kThreads)
    LowerBackward<T>(work, memory, maxima[0], thread).run();
  else
    UpperBackward<T>(work, memory, maxima[1], thread - T::kThreads).run();
}

}  // namespace rnnlab::kernels::persistent
