// How the blocks of a group hand data around through L2: no flags, since each word tells by itself whether it is there.
// Words of two hidden states wait as kNothing, two NaN that no conversion makes; words of float32 sums carry in their
// last bit which phase they belong to. Waits give up after a while.
#pragma once

#include "recurrent/kernels/persistent/cluster.h"
#include "recurrent/kernels/persistent/numbers.h"

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

__device__ inline bool is_of_phase(const uint4& words, uint32_t phase) {
  return phase == 1 ? (words.x & words.y & words.z & words.w & 1) == 1
                    : ((words.x | words.y | words.z | words.w) & 1) == 0;
}

// A word of one float32 sum, or of two as bfloat16, of which the first has a bit less.
template <int kSums>
struct SumsOfWord {
  float of[kSums];

  __device__ uint32_t with_phase(uint32_t phase) const {
    if constexpr (kSums == 1) return (__float_as_uint(of[0]) & ~1u) | phase;
    constexpr uint32_t kHalfOfLastBit = 1 << 16;
    const uint32_t first = __float_as_uint(of[0]) + (isfinite(of[0]) ? kHalfOfLastBit : 0);
    return pack<__nv_bfloat16>(0.0f, of[kSums - 1]) | (first >> 16 & ~1u) | phase;
  }

  __device__ void add(uint32_t word) {
    if constexpr (kSums == 1) {
      of[0] += __uint_as_float(word);
    } else {
      of[0] += __uint_as_float(word << 16 & ~(1u << 16));
      of[1] += __uint_as_float(word & 0xFFFF0000);
    }
  }
};

class Patience {
 public:
  __device__ explicit Patience(int* timed_out) : timed_out_(timed_out) {}

  // Reads kCount vectors, place(i) of each, until is_there(vector) of all.
  template <int kCount, class Place, class IsThere>
  __device__ void read_all(uint4 (&vectors)[kCount], const Place& place, const IsThere& is_there) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) vectors[i] = read_exchanged(place(i));
    if (has_all(vectors, is_there) || gave_up_) return;
    const long long start = clock64();
    do {
      if (clock64() - start > kMostTicksToWait) return give_up();
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (!is_there(vectors[i])) vectors[i] = read_exchanged(place(i));
    } while (!has_all(vectors, is_there));
  }

 private:
  template <int kCount, class IsThere>
  __device__ static bool has_all(const uint4 (&vectors)[kCount], const IsThere& is_there) {
    bool all = true;
#pragma unroll
    for (int i = 0; i < kCount; ++i) all = all && is_there(vectors[i]);
    return all;
  }

  __device__ void give_up() {
    *timed_out_ = 1;
    gave_up_ = true;
  }

  int* timed_out_;
  bool gave_up_ = false;
};

}  // namespace rnnlab::kernels::persistent
