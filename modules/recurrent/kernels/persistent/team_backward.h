// Back-propagation through time by two teams of warps, whose groups of sequences take turns: while the sums of one
// group are on their way, the block works on the other. A team takes the gradients of its own group's gates; both teams
// multiply both groups', each its part of the rows, so that all weights lie in registers.
//
// What a team shares in step s, the other one reads before it comes to the block's barrier for the same group in step
// s + 1; the team overwrites it in step s + 2, after that barrier.
#pragma once

#include "recurrent/kernels/persistent/backward_kernel.h"

namespace rnnlab::kernels::persistent {

template <class T>
class TeamBackward : public BackwardBlock<T> {
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
  using Base = BackwardBlock<T>;
  using Inputs = typename Base::Inputs;
  using Gradients = typename Base::Gradients;

  template <int kTeam>
  __device__ void run_team() {
    Inputs inputs = this->read_inputs(this->place_);
    cluster_barrier();
    for (int step = 0; step < this->num_steps(); ++step, this->place_ += this->rows_.stride) {
      run_group<0, kTeam>(step, inputs);
      run_group<1, kTeam>(step, inputs);
    }
    this->finish(this->turns_[kTeam]);
  }

  // inputs: of the own group, of this step in, of the next one out.
  template <int kGroup, int kTeam>
  __device__ void run_group(int step, Inputs& inputs) {
    Gradients gradients;
    if constexpr (kGroup == kTeam) {
      this->differentiate(step, inputs, this->turns_[kTeam], gradients);
      const float scale = T::Numbers::kIsScaled ? this->common_scale(step, gradients) : 1.0f;
      this->share(step, gradients, scale);
      if (this->owner_.unit_warp == 0 && this->owner_.lane == 0) unscale_of(step, kGroup) = 1.0f / scale;
    }
    barrier_of_warps(kFirstBarrier + T::kTeams + kGroup, T::kWarps);
    if (kGroup == kTeam && step + 1 < this->num_steps()) inputs = this->read_inputs(this->place_ + this->rows_.stride);
    this->multiply_and_send(step, kGroup, unscale_of(step, kGroup));
    if constexpr (kGroup == kTeam) this->write(gradients);
  }

  __device__ float& unscale_of(int step, int group) const { return unscales_[(step & 1) * T::kTeams + group]; }

  float* unscales_;  // two of each group
};

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    team_backward_kernel(const __grid_constant__ PersistentBackward work) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(8) uint64_t barriers[2 * T::kTeams];
  __shared__ uint32_t maxima[2 * T::kWarps];
  __shared__ float unscales[2 * T::kTeams];
  TeamBackward<T>(work, shared, barriers, maxima, unscales).run();
}

}  // namespace rnnlab::kernels::persistent
