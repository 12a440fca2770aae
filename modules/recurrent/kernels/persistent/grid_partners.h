// What the blocks of a cluster hand around in the backward pass of a grid kernel: the gates' gradients of each, as
// products read them, and what their sums are multiplied by.
#pragma once

#include "recurrent/kernels/persistent/cluster.h"
#include "recurrent/kernels/persistent/grid_tiles.h"
#include "recurrent/kernels/persistent/wgmma.h"

namespace rnnlab::kernels::persistent {

// index: of a turn, counted over all steps. i: the block that is so many after this one in the circle of partners.
template <class T>
class GridPartners {
 public:
  // shared: T::kBackwardBufferBytes, of which end() is the place of what follows.
  __device__ GridPartners(uint4* shared, uint64_t* barriers, int block, int num_turns, int* timed_out)
      : block_(block),
        gates_(shared),
        unscale_(reinterpret_cast<float*>(shared + 2 * T::kPartners * T::kGateVectors)),
        turns_(barriers, (T::kPartners - 1) * kVectors * 16, num_turns, timed_out) {}

  __device__ float* end() const { return unscale_ + 2 * T::kPartners * T::kSequences; }

  // By one thread, before a barrier of the cluster.
  __device__ void prepare() const { turns_.prepare(); }

  // By 16 rows, tiles of 8 sequences, octets of rows, sequences; and a number for each sequence.
  __device__ uint4* gates(int index, int i) const { return gates_ + slot_of(index, i) * T::kGateVectors; }
  __device__ float* unscale(int index, int i) const { return unscale_ + slot_of(index, i) * T::kSequences; }

  // This block's own, by all threads, after a barrier of the block.
  __device__ void hand_out(int index) const {
    const uint4* own_gates = gates(index, 0);
    const uint4* own_unscale = reinterpret_cast<const uint4*>(unscale(index, 0));
    for (int i = static_cast<int>(threadIdx.x); i < kVectors; i += T::kThreads) {
      const uint4* place = i < T::kGateVectors ? own_gates + i : own_unscale + i - T::kGateVectors;
      const uint4 vector = *place;
#pragma unroll
      for (int j = 1; j < T::kPartners; ++j) {
        const uint32_t receiver = T::partner_of(block_, j) % T::kPartners;
        send(address_in(receiver, shared_address(place)), vector, address_in(receiver, turns_.barrier_of(index + 1)));
      }
    }
  }

  // For those of all others, for products.
  __device__ void wait(int index) {
    turns_.wait(index + 1);
    publish_to_products();
  }

 private:
  static constexpr int kVectors = T::kGateVectors + T::kSequences / 4;

  // Which of two buffers, and of which block.
  __device__ int slot_of(int index, int i) const {
    return (index & 1) * T::kPartners + T::partner_of(block_, i) % T::kPartners;
  }

  int block_;
  uint4* gates_;
  float* unscale_;
  Turns turns_;
};

}  // namespace rnnlab::kernels::persistent
