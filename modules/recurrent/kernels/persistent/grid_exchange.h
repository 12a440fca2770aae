// How the blocks of a group hand data around through L2: no flags, since each word tells by itself whether it is there.
// Words of two hidden states wait as kNothing, two NaN that no conversion makes; words of sums (grid_parcel.h) carry in
// their last bit which phase they belong to. Waits give up after a while.
#pragma once

#include "recurrent/kernels/persistent/cluster.h"

namespace rnnlab::kernels::persistent {

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

// Copies to shared memory what stands there now, of data that are likely to be there; through L2, as all else here. It
// is no relaxed read, and may do without: each word tells by itself whether it is there, and between the thread's last
// look at this buffer's predecessor, whose senders had emptied this one, and the copy stands exchange_fence().
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

// All that this thread has read and written comes before all that it will, for every block.
__device__ inline void exchange_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

__device__ inline bool is_filled(const uint4& words) {
  return max(max(words.x, words.y), max(words.z, words.w)) != kNothing;
}

// The phase that step s >= 1 belongs to where two buffers take turns: both begin with 1 in memory full of zeros.
__device__ inline uint32_t phase_of(int step) { return ((step >> 1) ^ step) & 1; }

class Patience {
 public:
  __device__ explicit Patience(int* timed_out) : timed_out_(timed_out) {}

  // Reads kCount of them, read(i) of each, until is_there(one) of all.
  template <class Exchanged, int kCount, class Read, class IsThere>
  __device__ void read_all(Exchanged (&all)[kCount], const Read& read, const IsThere& is_there) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) all[i] = read(i);
    complete(all, read, is_there);
  }

  // The same where each has been read once. Whether one had to be read again.
  template <class Exchanged, int kCount, class Read, class IsThere>
  __device__ bool complete(Exchanged (&all)[kCount], const Read& read, const IsThere& is_there) {
    if (has_all(all, is_there) || gave_up_) return false;
    const long long start = clock64();
    do {
      if (clock64() - start > kMostTicksToWait) {
        give_up();
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

  __device__ void give_up() {
    *timed_out_ = 1;
    gave_up_ = true;
  }

  int* timed_out_;
  bool gave_up_ = false;
};

}  // namespace rnnlab::kernels::persistent
