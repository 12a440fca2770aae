// SPDX-License-Identifier: Apache-2.0
// Kernels of a pair of layers: half of a block's warps have units of the lower layer, and the other half the same units
// of the upper layer. The upper layer is one step behind, so both layers compute at the same time. A turn is a step of
// the lower layer and the step before it of the upper layer; in the backward pass the upper layer is ahead. Hidden
// states, and sums for their gradients, go from layer to layer as they go from block to block: through shared memory.
//
// All that blocks send in a turn completes one barrier, so neither layer can be more than a turn ahead, and two buffers
// are enough (ReceiveBarriers). All weights are in registers. Left out: numbers of two parts, whose weights would not
// fit there.
#pragma once

#include "recurrent/kernels/persistent/cluster/backward.h"
#include "recurrent/kernels/persistent/cluster/forward.h"

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

// The forward pass. Buffers in shared memory are two each: of the lower layer's hidden states, of the upper layer's,
// and with dropout of the upper layer's inputs. The barrier of turn t completes what is read in turn t.
template <class T>
struct PairForwardBuffers {
  static_assert(T::kTeams == 1 && T::ForwardSlice::kInRegisters == T::ForwardSlice::kFragments);
  uint4 *lower, *upper, *inputs;
  uint32_t bytes;  // that a block receives in a turn

  __device__ PairForwardBuffers(const PersistentPairForward& work, uint4* shared) {
    const bool drops = work.dropout.kept != nullptr;
    lower = shared;
    upper = lower + 2 * T::kHiddenVectors;
    inputs = drops ? upper + 2 * T::kHiddenVectors : lower;
    bytes = (drops ? 3 : 2) * T::kHiddenVectors * 16;
  }
};

template <class T, StepInputs kInputs>
class LowerForward : public ForwardBlock<T, kInputs> {
 public:
  __device__ LowerForward(const PersistentPairForward& work, const PairForwardBuffers<T>& buffers, uint64_t* barriers,
                          int thread)
      : Base(work.lower, buffers.lower, /*weights=*/nullptr, thread),
        inputs_of_upper_(buffers.inputs),
        dropout_(work.dropout),
        dropped_(static_cast<Value*>(work.dropped)) {
    this->received_[0] = ReceiveBarriers(barriers, buffers.bytes, this->num_steps(), work.lower.timed_out);
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

  // The turn has the number of the step. inputs, factors: of this step in, of the next step out.
  __device__ void run_step(int step, Inputs& inputs, Factors& factors) {
    float sums[T::kGateTiles][T::kTiles][4] = {};
    float aside[T::kTiles][2];
    this->begin(inputs, sums, aside);
    const Factors own_factors = factors;
    if (step + 1 < this->num_steps()) {
      inputs = this->read_inputs(step + 1, this->place_ + this->rows_.stride);
      factors = Factors(dropout_, this->owner_, this->place_ + this->rows_.stride);
    }
    if (step > 0) this->received_[0].wait(step);
    multiply_forward<T>(this->weights_, this->hidden_ + (step & 1) * T::kHiddenVectors + this->owner_.lane, sums);
    Results results;
    float dropped[T::kTiles][2];
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
      this->activate_tile(tile, sums, aside, results);
      this->send_hidden(this->hidden_, step + 1, this->received_[0], tile, results.hidden[tile]);
      if (dropped_ == nullptr) continue;
#pragma unroll
      for (int i = 0; i < 2; ++i) dropped[tile][i] = results.hidden[tile][i] * own_factors.of(tile, i);
      this->send_hidden(inputs_of_upper_, step + 1, this->received_[0], tile, dropped[tile]);
    }
    this->write(this->place_, results);
    if (dropped_ != nullptr) write_dropped(dropped);
  }

  __device__ void write_dropped(const float (&dropped)[T::kTiles][2]) const {
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (this->owner_.has(tile, i))
          dropped_[this->place_ + this->owner_.offset(tile, i)] = from_float<Value>(dropped[tile][i]);
  }

  uint4* inputs_of_upper_;
  const DropoutPass& dropout_;
  Value* dropped_;
};

template <class T>
class UpperForward : public ForwardBlock<T> {
 public:
  __device__ UpperForward(const PersistentPairForward& work, const PairForwardBuffers<T>& buffers, uint64_t* barriers,
                          int thread)
      : Base(work.upper, buffers.upper, /*weights=*/nullptr, thread),
        inputs_(buffers.inputs),
        input_weights_(this->packed_weights(work.input_weights), nullptr, this->owner_.warp, this->owner_.lane) {
    this->received_[0] = ReceiveBarriers(barriers, buffers.bytes, this->num_steps(), work.upper.timed_out);
  }

  __device__ void run() {
    this->read_bias();
    cluster_barrier();
    send_initial();
    for (int step = 0; step < this->num_steps(); ++step, this->place_ += this->rows_.stride) run_step(step);
    cluster_barrier();
  }

 private:
  using Base = ForwardBlock<T>;
  using Value = typename Base::Value;
  using Results = typename Base::Results;

  // Turn 0. The initial hidden states are sent as later ones are, so that all turns have the same number of bytes.
  __device__ void send_initial() {
    const int64_t before = this->place_ + this->rows_.before;
    if (this->work_.begins_with_zeros) this->write_initial_zeros(before);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
      float hidden[2] = {};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        this->carried_[tile][i] = 0.0f;
        if (this->work_.begins_with_zeros || !this->owner_.has(tile, i)) continue;
        const int64_t place = before + this->owner_.offset(tile, i);
        this->carried_[tile][i] = this->initial_state(place);
        hidden[i] = to_float(static_cast<const Value*>(this->work_.hidden)[place]);
      }
      this->send_hidden(this->hidden_, 1, this->received_[0], tile, hidden);
    }
  }

  __device__ void run_step(int step) {
    const int turn = step + 1, buffer = (turn & 1) * T::kHiddenVectors + this->owner_.lane;
    this->received_[0].wait(turn, /*counts=*/false);
    float sums[T::kGateTiles][T::kTiles][4] = {};
    float aside[T::kTiles][2];
    multiply(buffer, sums, aside);
    Results results;
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile) {
      this->activate_tile(tile, sums, aside, results);
      if (turn < this->num_steps())
        this->send_hidden(this->hidden_, turn + 1, this->received_[0], tile, results.hidden[tile]);
    }
    this->write(this->place_, results);
  }

  // The two products do not wait for each other.
  __device__ void multiply(int buffer, float (&sums)[T::kGateTiles][T::kTiles][4], float (&aside)[T::kTiles][2]) {
    float of_inputs[T::kGateTiles][T::kTiles][4] = {};
    float of_hidden[T::kGateTiles][T::kTiles][4] = {};
    multiply_forward<T>(input_weights_, inputs_ + buffer, of_inputs);
    multiply_forward<T>(this->weights_, this->hidden_ + buffer, of_hidden);
    float products[T::kTiles][2][T::kGates];
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int gate = 0; gate < T::kGates; ++gate)
          products[tile][i][gate] = of_inputs[gate / 2][tile][gate % 2 * 2 + i];
    this->begin_with(products, sums, aside);
#pragma unroll
    for (int gates = 0; gates < T::kGateTiles; ++gates)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[gates][tile][i] += of_hidden[gates][tile][i];
  }

  const uint4* inputs_;
  WeightSlice<typename T::ForwardSlice> input_weights_;
};

template <class T, StepInputs kInputs = StepInputs::kProducts>
__global__ void __launch_bounds__(2 * T::kThreads, 1)
    pair_forward_kernel(const __grid_constant__ PersistentPairForward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2];
  const PairForwardBuffers<T> buffers(work, shared);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < T::kThreads)
    LowerForward<T, kInputs>(work, buffers, barriers, thread).run();
  else
    UpperForward<T>(work, buffers, barriers, thread - T::kThreads).run();
}

// Back-propagation through time. Buffers in shared memory are two each: of the sums for the gradients of both layers'
// hidden states, of the sums that the upper layer adds to those of the lower layer, and of both layers' gates'
// gradients.
template <class T>
struct PairBackwardBuffers {
  static_assert(T::kTeams == 1 && T::BackwardSlice::kInRegisters == T::BackwardSlice::kFragments);
  static constexpr uint32_t kBytes = 3 * T::kSumVectors * 16;  // that a block receives in a turn
  uint4 *lower, *upper, *from_upper, *lower_gates, *upper_gates;

  __device__ explicit PairBackwardBuffers(uint4* shared)
      : lower(shared),
        upper(lower + 2 * T::kSumVectors),
        from_upper(upper + 2 * T::kSumVectors),
        lower_gates(from_upper + 2 * T::kSumVectors),
        upper_gates(lower_gates + 2 * T::kGateVectors) {}
};

// The turn of the upper layer has the number of the step. After its last step it sends sums of 0, and the lower layer
// does before its first, so that all turns have the same number of bytes.
template <class T>
class UpperBackward : public BackwardBlock<T> {
 public:
  __device__ UpperBackward(const PersistentPairBackward& work, const PairBackwardBuffers<T>& buffers,
                           uint64_t* barriers, uint32_t* maxima, int thread)
      : Base(work.upper, buffers.upper, buffers.upper_gates, /*weights=*/nullptr, maxima, thread, kFirstBarrier + 1),
        to_lower_(buffers.from_upper),
        input_weights_(this->packed_weights(work.input_weights), nullptr, this->owner_.warp, this->owner_.lane) {
    this->received_[0] = ReceiveBarriers(barriers, buffers.kBytes, this->num_steps() + 1, work.upper.timed_out);
  }

  __device__ void run() {
    this->read_last_states();
    Inputs inputs = this->read_inputs(this->place_);
    cluster_barrier();
    for (int step = 0; step < this->num_steps(); ++step, this->place_ += this->rows_.stride) run_step(step, inputs);
    finish();
    cluster_barrier();
  }

 private:
  using Base = BackwardBlock<T>;
  using Inputs = typename Base::Inputs;
  using Gradients = typename Base::Gradients;
  static constexpr bool kHasTwoSides = T::Cell::kHasTwoSides;

  // inputs: of this step in, of the next step out.
  __device__ void run_step(int step, Inputs& inputs) {
    float hidden[T::kTiles][2];
    this->begin_hidden(inputs, hidden);
    if (step > 0)
      receive(step, hidden);
    else if (this->work_.later_hidden != nullptr)
      this->add_later(hidden);
    Gradients gradients;
    this->differentiate(inputs, hidden, gradients);
    const float scale = T::Numbers::kIsScaled ? this->common_scale(step, gradients) : 1.0f;
    this->template share<kHasTwoSides>(step, gradients, scale);
    this->barrier_of_team();
    if (step + 1 < this->num_steps()) inputs = this->read_inputs(this->place_ + this->rows_.stride);
    this->multiply_and_send(this->weights_, this->sums_, step, 0, 1.0f / scale);
    constexpr int kOddWord = kHasTwoSides ? T::kGates : T::kGates - 1;
    this->template multiply_and_send<kOddWord>(input_weights_, to_lower_, step, 0, 1.0f / scale);
    this->write(gradients);
  }

  __device__ void receive(int turn, float (&hidden)[T::kTiles][2]) {
    this->received_[0].wait(turn, /*counts=*/false);
    this->add_sums(this->sums_, turn, hidden);
  }

  __device__ void finish() {
    float hidden[T::kTiles][2] = {};
    receive(this->num_steps(), hidden);
    const float zeros[T::kRowTiles][T::kTiles][4] = {};
    this->send_sums(this->sums_, this->num_steps() + 1, 0, zeros, 1.0f);
    this->send_sums(to_lower_, this->num_steps() + 1, 0, zeros, 1.0f);
    Base::finish(hidden);
  }

  uint4* to_lower_;
  WeightSlice<typename T::BackwardSlice> input_weights_;
};

template <class T>
class LowerBackward : public BackwardBlock<T> {
 public:
  __device__ LowerBackward(const PersistentPairBackward& work, const PairBackwardBuffers<T>& buffers,
                           uint64_t* barriers, uint32_t* maxima, int thread)
      : Base(work.lower, buffers.lower, buffers.lower_gates, /*weights=*/nullptr, maxima, thread, kFirstBarrier),
        from_upper_(buffers.from_upper),
        dropout_(work.dropout) {
    this->received_[0] = ReceiveBarriers(barriers, buffers.kBytes, this->num_steps() + 1, work.lower.timed_out);
  }

  __device__ void run() {
    this->begin();
    Inputs inputs = this->read_inputs(this->place_);
    Factors factors(dropout_, this->owner_, this->place_);
    cluster_barrier();
    const float zeros[T::kRowTiles][T::kTiles][4] = {};
    this->send_sums(this->sums_, 1, 0, zeros, 1.0f);
    for (int step = 0; step < this->num_steps(); ++step, this->place_ += this->rows_.stride)
      run_step(step, inputs, factors);
    finish();
    cluster_barrier();
  }

 private:
  using Base = BackwardBlock<T>;
  using Inputs = typename Base::Inputs;
  using Gradients = typename Base::Gradients;
  using Factors = DropoutFactors<T>;

  // inputs, factors: of this step in, of the next step out.
  __device__ void run_step(int step, Inputs& inputs, Factors& factors) {
    const int turn = step + 1;
    float hidden[T::kTiles][2];
    this->begin_hidden(inputs, hidden);
    if (step == 0 && this->work_.later_hidden != nullptr) this->add_later(hidden);
    this->received_[0].wait(turn, this->owner_.thread() == 0);
    this->add_sums(this->sums_, turn, hidden);
    add_from_upper(turn, factors, hidden);
    Gradients gradients;
    this->differentiate(inputs, hidden, gradients);
    const float scale = T::Numbers::kIsScaled ? this->common_scale(turn, gradients) : 1.0f;
    this->share(turn, gradients, scale);
    this->barrier_of_team();
    if (turn < this->num_steps()) {
      inputs = this->read_inputs(this->place_ + this->rows_.stride);
      factors = Factors(dropout_, this->owner_, this->place_ + this->rows_.stride);
    }
    this->multiply_and_send(this->weights_, this->sums_, turn, 0, 1.0f / scale);
    this->write(gradients);
  }

  __device__ void add_from_upper(int turn, const Factors& factors, float (&hidden)[T::kTiles][2]) const {
    float sums[T::kTiles][2] = {};
    this->add_sums(from_upper_, turn, sums);
#pragma unroll
    for (int tile = 0; tile < T::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 2; ++i) hidden[tile][i] += sums[tile][i] * factors.of(tile, i);
  }

  __device__ void finish() {
    const int turn = this->num_steps() + 1;
    float hidden[T::kTiles][2] = {};
    this->received_[0].wait(turn, this->owner_.thread() == 0);
    this->add_sums(this->sums_, turn, hidden);
    Base::finish(hidden);
  }

  const uint4* from_upper_;
  const DropoutPass& dropout_;
};

template <class T>
__global__ void __launch_bounds__(2 * T::kThreads, 1)
    pair_backward_kernel(const __grid_constant__ PersistentPairBackward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2];
  __shared__ uint32_t maxima[2][2 * T::kWarps];
  const PairBackwardBuffers<T> buffers(shared);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < T::kThreads)
    LowerBackward<T>(work, buffers, barriers, maxima[0], thread).run();
  else
    UpperBackward<T>(work, buffers, barriers, maxima[1], thread - T::kThreads).run();
}

}  // namespace rnnlab::kernels::persistent
