// SPDX-License-Identifier: Apache-2.0
// The blocks of a cluster exchange data by stores into another block's shared memory, which count
// themselves on a barrier there (st.async, mbarrier), and waits for them, which time out. Also barriers of the cluster
// and of some warps of a block. Left out: what is sent (cluster/forward.h, cluster/backward.h, grid/exchange.h).
#pragma once

#include <cstdint>

namespace rnnlab::kernels::persistent {

constexpr long long kMostTicksToWait = 1LL << 33;  // clock ticks, about 4.5 s

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// The address in block `rank` of the cluster that corresponds to `address` in this block.
__device__ inline uint32_t address_in(uint32_t rank, uint32_t address) {
  uint32_t result;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

__device__ inline uint32_t block_rank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Named barriers of a block. Number 0 is that of __syncthreads.
constexpr int kFirstBarrier = 1;
__device__ inline void barrier_of_warps(int number, int num_warps) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(32 * num_warps) : "memory");
}
// Counts this warp for the barrier, and does not wait for the others.
__device__ inline void arrive_at_barrier(int number, int num_warps) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(32 * num_warps) : "memory");
}

// Stores 16 bytes. Both addresses are in the receiver, whose barrier counts the bytes.
__device__ inline void send(uint32_t address, uint4 value, uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(barrier)
      : "memory");
}

// The barriers of two receive buffers that are used in turn. What step s >= 1 reads lies in buffer s % 2, and barrier s
// % 2 completes when `bytes` of it have arrived. A buffer is not overwritten before all have read it: a block that
// sends for step s + 2 has received for step s + 1 from all blocks, and each block sends only after it has read.
// Buffers whose readers send on other barriers need waits of their own (cluster/pair.h).
class ReceiveBarriers {
 public:
  __device__ ReceiveBarriers() {}
  __device__ ReceiveBarriers(uint64_t* barriers, uint32_t bytes, int last_step, int* timed_out)
      : barriers_(shared_address(barriers)), bytes_(bytes), last_step_(last_step), timed_out_(timed_out) {}

  // One thread of a block calls it, before a barrier of the cluster.
  __device__ void prepare() const {
    for (uint32_t i = 0; i < 2; ++i)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers_ + 8 * i) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    expect(1);
    expect(2);
  }

  __device__ uint32_t barrier_of(int step) const { return barriers_ + 8 * (step & 1); }

  // All threads that read step `step` call it. One of them, for which `counts` is true, makes the barrier ready for the
  // step after the next. Others may call it too, if they wait for each step in turn.
  __device__ void wait(int step, bool counts = threadIdx.x == 0) {
    if (has_timed_out_) return;
    const uint32_t parity = ((step - 1) >> 1) & 1;
    if (!is_complete(barrier_of(step), parity)) spin(barrier_of(step), parity);
    if (counts) expect(step + 2);
  }

 private:
  __device__ void expect(int step) const {
    if (step > last_step_) return;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier_of(step)), "r"(bytes_)
                 : "memory");
  }

  __device__ void spin(uint32_t barrier, uint32_t parity) {
    const long long start = clock64();
    while (!is_complete(barrier, parity)) {
      if (clock64() - start < kMostTicksToWait) continue;
      *timed_out_ = 1;
      has_timed_out_ = true;
      return;
    }
  }

  __device__ static bool is_complete(uint32_t barrier, uint32_t parity) {
    uint32_t complete;
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(complete)
        : "r"(barrier), "r"(parity)
        : "memory");
    return complete != 0;
  }

  uint32_t barriers_, bytes_;
  int last_step_;
  int* timed_out_;
  bool has_timed_out_ = false;
};

}  // namespace rnnlab::kernels::persistent
