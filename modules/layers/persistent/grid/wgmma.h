// SPDX-License-Identifier: Apache-2.0
// The products of a grid kernel by wgmma, which only compute capability 9.0 has: where a warpgroup keeps its part of
// the weights (registers and shared memory), and the products of that part with vectors in shared memory. One
// instruction multiplies 64 rows by 16 columns of 16-bit operands by 16 or 32 sequences and adds up in float32.
#pragma once

#include <cstdint>
#include <type_traits>

#include "layers/persistent/grid/tiles.h"
#include "layers/persistent/shared/cluster_exchange.h"
#include "layers/persistent/shared/numbers.h"

namespace rnnlab::kernels::persistent {

// Instructions of a warpgroup. The left operand comes from registers or from shared memory, the right operand from
// shared memory, both without swizzle: 8 by 8 numbers lie in 128 bytes, row after row; those to the right of them 128
// bytes further on, those below 256 bytes further on.

#define RNNLAB_WGMMA_SUMS_8(as, first)                                                                 \
  as(sums[first]), as(sums[first + 1]), as(sums[first + 2]), as(sums[first + 3]), as(sums[first + 4]), \
      as(sums[first + 5]), as(sums[first + 6]), as(sums[first + 7])
#define RNNLAB_WGMMA_2_FROM_REGISTERS(type, continues, as)                                           \
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32." type "." type                           \
               " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, " continues ", 1, 1, 0;" \
               : RNNLAB_WGMMA_SUMS_8(as, 0)                                                          \
               : "r"(left.x), "r"(left.y), "r"(left.z), "r"(left.w), "l"(right))
#define RNNLAB_WGMMA_2_FROM_SHARED(type, continues, as)                                \
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32." type "." type             \
               " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, " continues ", 1, 1, 0, 0;" \
               : RNNLAB_WGMMA_SUMS_8(as, 0)                                            \
               : "l"(left), "l"(right))
#define RNNLAB_WGMMA_4_FROM_REGISTERS(type, continues, as)                                                     \
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type                                     \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}" \
               ", %20, " continues ", 1, 1, 0;"                                                                \
               : RNNLAB_WGMMA_SUMS_8(as, 0), RNNLAB_WGMMA_SUMS_8(as, 8)                                        \
               : "r"(left.x), "r"(left.y), "r"(left.z), "r"(left.w), "l"(right))
#define RNNLAB_WGMMA_4_FROM_SHARED(type, continues, as)                                                        \
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type                                     \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, " continues \
               ", 1, 1, 0, 0;"                                                                                 \
               : RNNLAB_WGMMA_SUMS_8(as, 0), RNNLAB_WGMMA_SUMS_8(as, 8)                                        \
               : "l"(left), "l"(right))
#define RNNLAB_WGMMA_OF(product)                 \
  if constexpr (std::is_same_v<Operand, Half>) { \
    if (how == Sums::kBegin)                     \
      product("f16", "0", "=f");                 \
    else                                         \
      product("f16", "1", "+f");                 \
  } else {                                       \
    if (how == Sums::kBegin)                     \
      product("bf16", "0", "=f");                \
    else                                         \
      product("bf16", "1", "+f");                \
  }

// left: the left operand of mma.m16n8k16, for each warp's 16 rows.
template <class Operand>
__device__ void warpgroup_multiply(Sums how, ProductSums<2>& sums, const uint4& left, uint64_t right) {
  RNNLAB_WGMMA_OF(RNNLAB_WGMMA_2_FROM_REGISTERS)
}
template <class Operand>
__device__ void warpgroup_multiply(Sums how, ProductSums<4>& sums, const uint4& left, uint64_t right) {
  RNNLAB_WGMMA_OF(RNNLAB_WGMMA_4_FROM_REGISTERS)
}

template <class Operand>
__device__ void warpgroup_multiply(Sums how, ProductSums<2>& sums, uint64_t left, uint64_t right) {
  RNNLAB_WGMMA_OF(RNNLAB_WGMMA_2_FROM_SHARED)
}
template <class Operand>
__device__ void warpgroup_multiply(Sums how, ProductSums<4>& sums, uint64_t left, uint64_t right) {
  RNNLAB_WGMMA_OF(RNNLAB_WGMMA_4_FROM_SHARED)
}

#undef RNNLAB_WGMMA_OF
#undef RNNLAB_WGMMA_4_FROM_SHARED
#undef RNNLAB_WGMMA_4_FROM_REGISTERS
#undef RNNLAB_WGMMA_2_FROM_SHARED
#undef RNNLAB_WGMMA_2_FROM_REGISTERS
#undef RNNLAB_WGMMA_SUMS_8

// The products of a warpgroup. They are asynchronous: a thread begins them, commits them as a group, and waits for it.
class WarpgroupProducts {
 public:
  static constexpr bool kAreAsynchronous = true;

  // Orders the writes of registers before the products that read them.
  __device__ static void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

  // Makes a group of the products since the last commit.
  __device__ static void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

  // Waits until at most `kLeft` groups are not finished.
  template <int kLeft>
  __device__ static void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
  }

  // Makes what this thread has written to shared memory visible to all products after the next barrier, and what it has
  // seen there visible to its own products.
  __device__ static void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

  // An operand in shared memory, as wgmma addresses it. The address must be the same for a whole warp, in a way that
  // the compiler detects.
  class Matrix {
   public:
    __device__ explicit Matrix(const void* place)
        : low_((shared_address(place) & 0x3FFFF) / kVectorBytes | kToTheRight << 16) {}

    // The operand that begins `vectors` of 16 bytes after this one.
    __device__ uint64_t at(int vectors) const {
      return uint64_t{kBelow} << 32 | (low_ + static_cast<uint32_t>(vectors));
    }

   private:
    static constexpr uint32_t kVectorBytes = 16;
    static constexpr uint32_t kToTheRight = 128 / kVectorBytes;
    static constexpr uint32_t kBelow = 256 / kVectorBytes;
    uint32_t low_;
  };

  // The fragments of a warp. Fragment i of all four warps of a warpgroup is one left operand. Loops over fragments are
  // unrolled, so that where a fragment is kept is known at compile time.
  template <class S>
  class Weights {
    static_assert(S::kInL2 == 0);

   public:
    // packed: the fragments of this warp, one after the other. shared: room for those of the block, 512 bytes for each
    // fragment of each warp.
    __device__ Weights(const uint4* packed, uint4* shared, int warp, int lane)
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
      publish();
    }

    // Returns whether fragment i, in the order of the packed weights, is packed as registers hold it.
    __host__ __device__ static constexpr bool is_for_registers(int i) { return is_in_registers(i); }

    template <class Operand, class SumsOf>
    __device__ void multiply(int i, Sums how, SumsOf& sums, uint64_t right) {
      if (is_in_registers(i))
        warpgroup_multiply<Operand>(how, sums, registers_[before(i)], right);
      else
        warpgroup_multiply<Operand>(how, sums, shared_.at((i - before(i)) * kVectorsOfFragment), right);
    }

   private:
    __host__ __device__ static constexpr bool is_in_registers(int i) {
      return is_in_spread(i, S::kInRegisters, S::kFragments);
    }
    __host__ __device__ static constexpr int before(int i) { return spread_before(i, S::kInRegisters, S::kFragments); }

    static constexpr int kVectorsOfFragment = kWarpsPerGroup * kLanes;  // of a warpgroup
    static constexpr int kVectorsOfWarpgroup = S::kInShared * kVectorsOfFragment;
    Matrix shared_;
    uint4 registers_[S::kInRegisters];
  };
};

}  // namespace rnnlab::kernels::persistent
