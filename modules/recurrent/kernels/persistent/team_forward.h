// The forward pass by two teams of warps, whose groups of sequences take turns: while the hidden states of one group
// are on their way, the block works on the other. Both teams multiply for both groups, each its half of the columns, so
// that all of R lies in registers; sums for the other team's group go to it through shared memory.
//
// Two buffers of states a group are enough, as in Turns: who sends has the sums of both teams, so both have read. One
// buffer of handed sums is, too: the next ones are of states that their reader sent after it had read.
#pragma once

#include "recurrent/kernels/persistent/forward_kernel.h"

namespace rnnlab::kernels::persistent {

template <class T>
class TeamForward : public ForwardBlock<T> {
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
  using Base = ForwardBlock<T>;
  using Inputs = typename Base::Inputs;
  using Results = typename Base::Results;
  using Sums = float[T::kGateTiles][T::kTiles][4];

  // What a step computed is written while the block works on the other group: by team 1 in the step after.
  template <int kTeam>
  __device__ void run_team() {
    Inputs inputs = this->read_inputs(this->place_);
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

  // inputs: of this step in, of the next one out.
  template <int kTeam>
  __device__ void run_own(int step, Inputs& inputs, Results& results) {
    Sums sums = {};
    float aside[T::kTiles][2];
    this->begin(inputs, sums, aside);
    if (step + 1 < this->num_steps()) inputs = this->read_inputs(this->place_ + this->rows_.stride);
    multiply<kTeam>(step, sums);
    add_partial(sums);
    this->activate(step, this->turns_[kTeam], sums, aside, results);
  }

  // This team's half of the product for the other one.
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
    if (step > 0) this->turns_[kGroup].wait(step);
    const uint4* hidden = this->hidden_ + ((step & 1) * T::kTeams + kGroup) * T::kHiddenVectors;
    const int first = this->owner_.team * T::kStepsOfTeam * kLanes;
    multiply_forward<T>(this->weights_, hidden + first + this->owner_.lane, sums);
  }

  // Of a warp's units and the group of a team.
  __device__ float4* partial_of(int team) const {
    constexpr int kOfWarp = T::kGateTiles * T::kTiles * kLanes;
    return partial_ + (team * T::kUnitWarps + this->owner_.unit_warp) * kOfWarp + this->owner_.lane;
  }
  __device__ int barrier_of(int team) const { return kFirstBarrier + team * T::kUnitWarps + this->owner_.unit_warp; }

  float4* partial_;
};

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1) team_forward_kernel(const __grid_constant__ PersistentForward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2 * T::kTeams];
  TeamForward<T>(work, shared, barriers).run();
}

}  // namespace rnnlab::kernels::persistent
