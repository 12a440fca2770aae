// Products by a warpgroup (wgmma, Hopper): 64 rows by 16 columns of 16-bit operands by 16 or 32 sequences, float32
// sums. The left factor comes from registers or from shared memory, the right one from shared memory, both without
// swizzle: 8 by 8 numbers lie in 128 bytes, row after row; those to the right of them 128 bytes on, those below 256
// bytes on.
#pragma once

#include "recurrent/kernels/persistent/cluster.h"
#include "recurrent/kernels/persistent/numbers.h"

namespace rnnlab::kernels::persistent {

// 4 sums of a thread for each tile of 8 sequences: rows `row` and row + 8 of its warp's 16, columns 2 * column and one
// more.
template <int kTiles>
using WarpgroupSums = float[4 * kTiles];

// A factor in shared memory, for wgmma to find it. The address must be the same for a whole warp, and the compiler see
// it.
class Matrix {
 public:
  __device__ explicit Matrix(const void* place)
      : low_((shared_address(place) & 0x3FFFF) / kVectorBytes | kToTheRight << 16) {}

  // What lies `vectors` of 16 bytes further on.
  __device__ uint64_t at(int vectors) const { return uint64_t{kBelow} << 32 | (low_ + static_cast<uint32_t>(vectors)); }

 private:
  static constexpr uint32_t kVectorBytes = 16;
  static constexpr uint32_t kToTheRight = 128 / kVectorBytes;
  static constexpr uint32_t kBelow = 256 / kVectorBytes;
  uint32_t low_;
};

// Whether sums are added to, or begin.
enum class Sums { kBegin, kContinue };

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

// left: as mma.m16n8k16 has it, for each warp's 16 rows.
template <class Operand>
__device__ void warpgroup_multiply(Sums how, WarpgroupSums<2>& sums, const uint4& left, uint64_t right) {
  RNNLAB_WGMMA_OF(RNNLAB_WGMMA_2_FROM_REGISTERS)
}
template <class Operand>
__device__ void warpgroup_multiply(Sums how, WarpgroupSums<4>& sums, const uint4& left, uint64_t right) {
  RNNLAB_WGMMA_OF(RNNLAB_WGMMA_4_FROM_REGISTERS)
}

template <class Operand>
__device__ void warpgroup_multiply(Sums how, WarpgroupSums<2>& sums, uint64_t left, uint64_t right) {
  RNNLAB_WGMMA_OF(RNNLAB_WGMMA_2_FROM_SHARED)
}
template <class Operand>
__device__ void warpgroup_multiply(Sums how, WarpgroupSums<4>& sums, uint64_t left, uint64_t right) {
  RNNLAB_WGMMA_OF(RNNLAB_WGMMA_4_FROM_SHARED)
}

#undef RNNLAB_WGMMA_OF
#undef RNNLAB_WGMMA_4_FROM_SHARED
#undef RNNLAB_WGMMA_4_FROM_REGISTERS
#undef RNNLAB_WGMMA_2_FROM_SHARED
#undef RNNLAB_WGMMA_2_FROM_REGISTERS
#undef RNNLAB_WGMMA_SUMS_8

// What products read from registers is there.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// The products since the last commit are a group, on its way.
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until at most `kLeft` groups are on their way.
template <int kLeft>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// What this thread wrote to shared memory is there for products after the next barrier, and what it has seen there for
// its own.
__device__ inline void publish_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace rnnlab::kernels::persistent
