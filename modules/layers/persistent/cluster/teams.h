// SPDX-License-Identifier: Apache-2.0
// Kernels of two teams of warps, whose groups of sequences take turns: while the hidden states, or the sums, of one
// group are on their way to other blocks, the block works on the other group. Both teams multiply for both groups, each
// with its part of the weights, so that all weights are in registers.
#pragma once

#include "layers/persistent/cluster/backward.h"
#include "layers/persistent/cluster/forward.h"

namespace rnnlab::kernels::persistent {

// The forward pass. Each team multiplies its half of the columns; sums for the other team's group are handed over
// through shared memory.
//
// Two buffers of hidden states for each group are enough, as in ReceiveBarriers: a warp that sends has the sums of both
// teams, so both have read. One buffer of handed sums is enough too: the next sums are of hidden states that their
// reader sent after it had read.
template <class T, StepInputs kInputs = StepInputs::kProducts>
class TeamForward : public ForwardBlock<T, kInputs> {
 public:
  __device__ TeamForward(const PersistentForward& work, uint4* shared, uint64_t* barriers)
      : Base(work, shared, barriers), partial_(reinterpret_cast<float4*>(shared + 2 * T::kTeams * T::kHiddenVectors)) {}

  __device__ void run() {
    this->prepare();
    if (this->owner_.team == 0)
      run_team<0>();
    else
      run_team<1>();
    cluster_barrier();
  }

 private:
  using Base = ForwardBlock<T, kInputs>;
  using Inputs = typename Base::Inputs;
  using Results = typename Base::Results;
  using Sums = float[T::kGateTiles][T::kTiles][4];

  // The results of a step are written to memory while the block works on the other group. Team 1 writes them in the
  // next step.
  template <int kTeam>
  __device__ void run_team() {
    Inputs inputs = this->read_inputs(0, this->place_);
    Results results;
    cluster_barrier();
    for (int step = 0; step < this->num_steps(); ++step, this->place_ += this->rows_.stride) {
      if constexpr (kTeam == 0) {
        run_own<kTeam>(step, inputs, results);
        help<1>(step);
        this->write(this->place_, results);
      } else {
        help<0>(step);
        if (step > 0) this->write(this->place_ - this->rows_.stride, results);
        run_own<kTeam>(step, inputs, results);
      }
    }
    if constexpr (kTeam == 1) this->write(this->place_ - this->rows_.stride, results);
  }

  // inputs: of this step in, of the next step out.
  template <int kTeam>
  __device__ void run_own(int step, Inputs& inputs, Results& results) {
    Sums sums = {};
    float aside[T::kTiles][2];
    this->begin(inputs, sums, aside);
    this->restart_and_look_ahead(step);
    if (step + 1 < this->num_steps()) inputs = this->read_inputs(step + 1, this->place_ + this->rows_.stride);
    multiply<kTeam>(step, sums);
    add_partial(sums);
    this->activate(step, this->received_[kTeam], sums, aside, results);
  }

  // Computes this team's half of the product for the other team.
  template <int kOther>
  __device__ void help(int step) {
    Sums sums = {};
    multiply<kOther>(step, sums);
    float4* place = partial_of(kOther);
#pragma unroll
    for (int i = 0; i < T::kGateTiles; ++i)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile, place += kLanes)
        *place = make_float4(sums[i][tile][0], sums[i][tile][1], sums[i][tile][2], sums[i][tile][3]);
    arrive_at_barrier(barrier_of(kOther), 2);
  }

  __device__ void add_partial(Sums& sums) {
    barrier_of_warps(barrier_of(this->owner_.team), 2);
    const float4* place = partial_of(this->owner_.team);
#pragma unroll
    for (int i = 0; i < T::kGateTiles; ++i)
#pragma unroll
      for (int tile = 0; tile < T::kTiles; ++tile, place += kLanes) {
        const float4 part = *place;
        sums[i][tile][0] += part.x;
        sums[i][tile][1] += part.y;
        sums[i][tile][2] += part.z;
        sums[i][tile][3] += part.w;
      }
  }

  template <int kGroup>
  __device__ void multiply(int step, Sums& sums) {
    if (step > 0) this->received_[kGroup].wait(step);
    const uint4* hidden = this->hidden_ + ((step & 1) * T::kTeams + kGroup) * T::kHiddenVectors;
    const int first = this->owner_.team * T::kStepsOfTeam * kLanes;
    multiply_forward<T>(this->weights_, hidden + first + this->owner_.lane, sums);
  }

  // The handed sums for this warp's units and the group of `team`.
  __device__ float4* partial_of(int team) const {
    constexpr int kOfWarp = T::kGateTiles * T::kTiles * kLanes;
    return partial_ + (team * T::kUnitWarps + this->owner_.unit_warp) * kOfWarp + this->owner_.lane;
  }
  __device__ int barrier_of(int team) const { return kFirstBarrier + team * T::kUnitWarps + this->owner_.unit_warp; }

  float4* partial_;
};

template <class T, StepInputs kInputs = StepInputs::kProducts>
__global__ void __launch_bounds__(T::kThreads, 1) team_forward_kernel(const __grid_constant__ PersistentForward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2 * T::kTeams];
  TeamForward<T, kInputs>(work, shared, barriers).run();
}

// Back-propagation through time. A team computes the gradients of its own group's gates. Each team multiplies the gates
// of both groups, and computes its part of the rows, so no sums are handed over.
//
// The other team reads the gradients that a team shares in step s before it reaches the block's barrier for the same
// group in step s + 1. The team overwrites it in step s + 2, after that barrier.
template <class T, bool kWritesHalf>
class TeamBackward : public BackwardBlock<T, kWritesHalf> {
 public:
  __device__ TeamBackward(const PersistentBackward& work, uint4* shared, uint64_t* barriers, uint32_t* maxima,
                          float* unscales)
      : Base(work, shared, barriers, maxima), unscales_(unscales) {}

  __device__ void run() {
    this->begin();
    if (this->owner_.team == 0)
      run_team<0>();
    else
      run_team<1>();
    cluster_barrier();
  }

 private:
  using Base = BackwardBlock<T, kWritesHalf>;
  using Inputs = typename Base::Inputs;
  using Gradients = typename Base::Gradients;

  template <int kTeam>
  __device__ void run_team() {
    Inputs inputs = this->read_inputs(0, this->place_);
    cluster_barrier();
    for (int step = 0; step < this->num_steps(); ++step, this->place_ += this->rows_.stride) {
      run_group<0, kTeam>(step, inputs);
      run_group<1, kTeam>(step, inputs);
    }
    this->finish(this->received_[kTeam]);
  }

  // inputs: of the team's own group; of this step in, of the next step out.
  template <int kGroup, int kTeam>
  __device__ void run_group(int step, Inputs& inputs) {
    Gradients gradients;
    if constexpr (kGroup == kTeam) {
      this->differentiate(step, inputs, this->received_[kTeam], gradients);
      const float scale = T::Numbers::kIsScaled ? this->common_scale(step, gradients) : 1.0f;
      this->share(step, gradients, scale);
      if (this->owner_.unit_warp == 0 && this->owner_.lane == 0) unscale_of(step, kGroup) = 1.0f / scale;
    }
    barrier_of_warps(kFirstBarrier + T::kTeams + kGroup, T::kWarps);
    if (kGroup == kTeam && step + 1 < this->num_steps())
      inputs = this->read_inputs(step + 1, this->place_ + this->rows_.stride);
    this->multiply_and_send(step, kGroup, unscale_of(step, kGroup));
    if constexpr (kGroup == kTeam) this->write(step, gradients);
  }

  __device__ float& unscale_of(int step, int group) const { return unscales_[(step & 1) * T::kTeams + group]; }

  float* unscales_;  // two for each group: what sums are multiplied by
};

template <class T, bool kWritesHalf = false>
__global__ void __launch_bounds__(T::kThreads, 1)
    team_backward_kernel(const __grid_constant__ PersistentBackward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2 * T::kTeams];
  __shared__ uint32_t maxima[2 * T::kWarps];
  __shared__ float unscales[2 * T::kTeams];
  TeamBackward<T, kWritesHalf>(work, shared, barriers, maxima, unscales).run();
}

}  // namespace rnnlab::kernels::persistent
