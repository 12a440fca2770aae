// How the blocks of a group hand each other data through L2, and the blocks of a cluster through shared memory.
#pragma once

#include <cstdint>

#include "recurrent/kernels/persistent/grid/products.h"
#include "recurrent/kernels/persistent/shared/cluster_exchange.h"

namespace rnnlab::kernels::persistent {

// Through L2. There are no flags, because each word itself tells whether it has been written. Words of two hidden
// states are kNothing before, which is two NaN that no conversion produces. Words of sums (sum_exchange.h) have in
// their last bit the phase that they belong to. Waits time out.

constexpr uint32_t kNothing = 0xFFFFFFFF;

__device__ inline uint4 read_exchanged(const uint4* place) {
  uint4 value;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(place)
               : "memory");
  return value;
}

__device__ inline uint32_t read_exchanged(const uint32_t* place) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
  return value;
}

// Copies a vector from L2 to shared memory as it is now, for data that have probably been written. The copy is not a
// relaxed read, and need not be one: each word tells whether it has been written, and exchange_fence() is between the
// copy and the thread's last read of the previous buffer, whose senders had emptied this one.
__device__ inline void copy_exchanged(uint4* shared, const uint4* place) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(place) : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ inline void write_exchanged(uint4* place, uint4 value) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(place), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ inline void write_exchanged(uint32_t* place, uint32_t value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
}

// Orders all that this thread has read and written before all that it will read and write, for every block.
__device__ inline void exchange_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

__device__ inline bool is_filled(const uint4& words) {
  return max(max(words.x, words.y), max(words.z, words.w)) != kNothing;
}

// The phase of step s >= 1 if two buffers are used in turn. In both the first phase is 1, and memory is 0 before.
__device__ inline uint32_t phase_of(int step) { return ((step >> 1) ^ step) & 1; }

// Waits for data, until a timeout.
class TimedWait {
 public:
  __device__ explicit TimedWait(int* timed_out) : timed_out_(timed_out) {}

  // Fills `all` by read(i), and repeats that for each element until is_there(element) is true for all of them.
  template <class Exchanged, int kCount, class Read, class IsThere>
  __device__ void read_all(Exchanged (&all)[kCount], const Read& read, const IsThere& is_there) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) all[i] = read(i);
    complete(all, read, is_there);
  }

  // The same if each element has been read once. Returns whether one had to be read again.
  template <class Exchanged, int kCount, class Read, class IsThere>
  __device__ bool complete(Exchanged (&all)[kCount], const Read& read, const IsThere& is_there) {
    if (has_all(all, is_there) || has_timed_out_) return false;
    const long long start = clock64();
    do {
      if (clock64() - start > kMostTicksToWait) {
        report_timeout();
        break;
      }
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (!is_there(all[i])) all[i] = read(i);
    } while (!has_all(all, is_there));
    return true;
  }

 private:
  template <class Exchanged, int kCount, class IsThere>
  __device__ static bool has_all(const Exchanged (&all)[kCount], const IsThere& is_there) {
    bool has = true;
#pragma unroll
    for (int i = 0; i < kCount; ++i) has = has && is_there(all[i]);
    return has;
  }

  __device__ void report_timeout() {
    *timed_out_ = 1;
    has_timed_out_ = true;
  }

  int* timed_out_;
  bool has_timed_out_ = false;
};

// Within a cluster, in the backward pass: each block sends its gates' gradients, as products read them, and the numbers
// that its sums are multiplied by.

// index: a turn, counted over all steps. i: the block that comes `i` places after this one in the circle of partners.
template <class T>
class GridPartners {
 public:
  // shared: the first part of T::kBackwardBufferBytes; end() is the place after it.
  __device__ GridPartners(uint4* shared, uint64_t* barriers, int block, int num_turns, int* timed_out)
      : block_(block),
        gates_(shared),
        unscale_(reinterpret_cast<float*>(shared + 2 * T::kPartners * T::kGateVectors)),
        received_(barriers, (T::kPartners - 1) * kVectors * 16, num_turns, timed_out) {}

  __device__ float* end() const { return unscale_ + 2 * T::kPartners * T::kSequences; }

  // One thread of a block calls it, before a barrier of the cluster.
  __device__ void prepare() const { received_.prepare(); }

  // The gates' gradients, in the order 16 rows, tiles of 8 sequences, octets of rows, sequences; and for each sequence
  // the number that its sums are multiplied by.
  __device__ uint4* gates(int index, int i) const { return gates_ + slot_of(index, i) * T::kGateVectors; }
  __device__ float* unscale(int index, int i) const { return unscale_ + slot_of(index, i) * T::kSequences; }

  // Sends those of this block to all partners. All threads call it, after a barrier of the block.
  __device__ void hand_out(int index) const {
    const uint4* own_gates = gates(index, 0);
    const uint4* own_unscale = reinterpret_cast<const uint4*>(unscale(index, 0));
    for (int i = static_cast<int>(threadIdx.x); i < kVectors; i += T::kThreads) {
      const uint4* place = i < T::kGateVectors ? own_gates + i : own_unscale + i - T::kGateVectors;
      const uint4 vector = *place;
#pragma unroll
      for (int j = 1; j < T::kPartners; ++j) {
        const uint32_t receiver = T::partner_of(block_, j) % T::kPartners;
        send(address_in(receiver, shared_address(place)), vector,
             address_in(receiver, received_.barrier_of(index + 1)));
      }
    }
  }

  // Waits until those of all partners have arrived and products can read them.
  __device__ void wait(int index) {
    received_.wait(index + 1);
    publish_to_products();
  }

 private:
  static constexpr int kVectors = T::kGateVectors + T::kSequences / 4;

  // The place in the two buffers, which have a slot for each block.
  __device__ int slot_of(int index, int i) const {
    return (index & 1) * T::kPartners + T::partner_of(block_, i) % T::kPartners;
  }

  int block_;
  uint4* gates_;
  float* unscale_;
  ReceiveBarriers received_;
};

}  // namespace rnnlab::kernels::persistent
