// A warp's part of the recurrent weights: in registers, in shared memory, and what has no room there in L2.
#pragma once

#include "recurrent/kernels/persistent/tiles.h"

namespace rnnlab::kernels::persistent {

// All that the functions below ask of an index is known when the loops over fragments are unrolled, so that no register
// is indexed at run time. Fragments are taken in their order, each once a step.
template <class S>
class WeightSlice {
 public:
  // packed: of this warp, fragment after fragment. shared: room for the block's, at 512 bytes a fragment and warp.
  __device__ WeightSlice(const uint4* packed, uint4* shared, int warp, int lane)
      : packed_(packed + lane), shared_(shared + warp * S::kInShared * kLanes + lane) {
    static_assert(has_a_place_for_each());
#pragma unroll
    for (int i = 0; i < S::kFragments; ++i) {
      if (is_in_registers(i))
        registers_[spread_before(i, S::kInRegisters, S::kFragments)] = read(packed_, i);
      else if (!is_in_l2(i))
        shared_[shared_before(i) * kLanes] = read(packed_, i);
    }
  }

  // Asks for the first fragments from L2, which wait for no step.
  __device__ void read_ahead() {
#pragma unroll
    for (int i = 0; i < S::kReadAhead; ++i) on_the_way_[i] = read(packed_, fragment_of_l2(i));
  }

  __device__ uint4 take(int i) {
    if (is_in_registers(i)) return registers_[spread_before(i, S::kInRegisters, S::kFragments)];
    if (!is_in_l2(i)) return shared_[shared_before(i) * kLanes];
    const int count = l2_before(i);
    const uint4 fragment = on_the_way_[count % kSlots];
    if (count + S::kReadAhead < S::kInL2)
      on_the_way_[count % kSlots] = read(packed_, fragment_of_l2(count + S::kReadAhead));
    return fragment;
  }

 private:
  __device__ static uint4 read(const uint4* packed, int i) { return __ldg(packed + i * kLanes); }

  __device__ static constexpr int rest_before(int i) { return i - spread_before(i, S::kInRegisters, S::kFragments); }
  __device__ static constexpr int l2_before(int i) {
    return spread_before(rest_before(i), S::kInL2, S::kFragments - S::kInRegisters);
  }
  __device__ static constexpr int shared_before(int i) { return rest_before(i) - l2_before(i); }
  __device__ static constexpr bool is_in_registers(int i) { return is_in_spread(i, S::kInRegisters, S::kFragments); }
  __device__ static constexpr bool is_in_l2(int i) {
    return !is_in_registers(i) && is_in_spread(rest_before(i), S::kInL2, S::kFragments - S::kInRegisters);
  }
  // The inverse of l2_before, in closed form so that it is known at compile time.
  __device__ static constexpr int fragment_of_l2(int count) {
    constexpr int kRest = S::kFragments - S::kInRegisters;
    constexpr int kCounts = S::kInL2 > 0 ? S::kInL2 : 1;
    const int rest = ((count + 1) * kRest + kCounts - 1) / kCounts - 1;
    return rest * S::kFragments / (kRest > 0 ? kRest : 1);
  }

  // Whether the fragments of each of the three places fill it in order, one after the other.
  __device__ static constexpr bool has_a_place_for_each() {
    int in_registers = 0, in_shared = 0, in_l2 = 0;
    for (int i = 0; i < S::kFragments; ++i) {
      if (is_in_registers(i)) {
        if (spread_before(i, S::kInRegisters, S::kFragments) != in_registers++) return false;
      } else if (is_in_l2(i)) {
        if (l2_before(i) != in_l2 || fragment_of_l2(in_l2++) != i) return false;
      } else {
        if (shared_before(i) != in_shared++) return false;
      }
    }
    return in_registers == S::kInRegisters && in_shared == S::kInShared && in_l2 == S::kInL2;
  }

  static constexpr int kSlots = S::kReadAhead > 0 ? S::kReadAhead : 1;
  static constexpr int kHeld = S::kInRegisters > 0 ? S::kInRegisters : 1;
  const uint4* packed_;
  uint4* shared_;
  uint4 registers_[kHeld];
  uint4 on_the_way_[kSlots];
};

}  // namespace rnnlab::kernels::persistent
