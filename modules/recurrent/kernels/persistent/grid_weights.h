// A warp's part of the recurrent weights in a block of a grid kernel, in registers and in shared memory.
#pragma once

#include "recurrent/kernels/persistent/grid_tiles.h"
#include "recurrent/kernels/persistent/wgmma.h"

namespace rnnlab::kernels::persistent {

// Fragment i of all four warps of a warpgroup is one left factor. All indices are known when loops are unrolled.
template <class S>
class GridWeights {
  static_assert(S::kInL2 == 0);

 public:
  // packed: of this warp, fragment after fragment. shared: room for the block's, at 512 bytes a fragment and warp.
  __device__ GridWeights(const uint4* packed, uint4* shared, int warp, int lane)
      : shared_(shared + warp / kWarpsPerGroup * kVectorsOfWarpgroup) {
    uint4* own = shared + warp / kWarpsPerGroup * kVectorsOfWarpgroup + warp % kWarpsPerGroup * kLanes + lane;
#pragma unroll
    for (int i = 0; i < S::kFragments; ++i) {
      const uint4 fragment = __ldg(packed + i * kLanes + lane);
      if (is_in_registers(i))
        registers_[before(i)] = fragment;
      else
        own[(i - before(i)) * kVectorsOfFragment] = fragment;
    }
    publish_to_products();
  }

  // Whether fragment i, as pack.h's order says, is in registers.
  __host__ __device__ static constexpr bool is_in_registers(int i) {
    return is_in_spread(i, S::kInRegisters, S::kFragments);
  }

  template <class Operand, class SumsOf>
  __device__ void multiply(int i, Sums how, SumsOf& sums, uint64_t right) const {
    if (is_in_registers(i))
      warpgroup_multiply<Operand>(how, sums, registers_[before(i)], right);
    else
      warpgroup_multiply<Operand>(how, sums, shared_.at((i - before(i)) * kVectorsOfFragment), right);
  }

 private:
  __host__ __device__ static constexpr int before(int i) { return spread_before(i, S::kInRegisters, S::kFragments); }

  static constexpr int kVectorsOfFragment = kWarpsPerGroup * kLanes;  // of a warpgroup
  static constexpr int kVectorsOfWarpgroup = S::kInShared * kVectorsOfFragment;
  Matrix shared_;
  uint4 registers_[S::kInRegisters];
};

}  // namespace rnnlab::kernels::persistent
