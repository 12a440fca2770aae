// SPDX-License-Identifier: Apache-2.0
// The recurrent weights of a grid kernel: the kernel that packs them, where a warpgroup keeps its part (registers and
// shared memory), and the products of that part with vectors in shared memory, by wgmma, which only compute capability
// 9.0 has. One instruction multiplies 64 rows by 16 columns of 16-bit operands by 16 or 32 sequences and adds up in
// float32.
#pragma once

#include <cstdint>
#include <type_traits>

#include "recurrent/kernels/persistent/grid/tiles.h"
#include "recurrent/kernels/persistent/shared/cluster_exchange.h"
#include "recurrent/kernels/persistent/shared/numbers.h"
#include "recurrent/kernels/persistent/shared/tensors.h"

namespace rnnlab::kernels::persistent {

// Instructions of a warpgroup. The left operand comes from registers or from shared memory, the right operand from
// shared memory, both without swizzle: 8 by 8 numbers lie in 128 bytes, row after row; those to the right of them 128
// bytes further on, those below 256 bytes further on.

// The sums of a thread, 4 for each tile of 8 sequences: rows `row` and row + 8 of its warp's 16, columns 2 * column and
// 2 * column + 1.
template <int kTiles>
using WarpgroupSums = float[4 * kTiles];

// An operand in shared memory, as wgmma addresses it. The address must be the same for a whole warp, in a way that the
// compiler detects.
class Matrix {
 public:
  __device__ explicit Matrix(const void* place)
      : low_((shared_address(place) & 0x3FFFF) / kVectorBytes | kToTheRight << 16) {}

  // The operand that begins `vectors` of 16 bytes after this one.
  __device__ uint64_t at(int vectors) const { return uint64_t{kBelow} << 32 | (low_ + static_cast<uint32_t>(vectors)); }

 private:
  static constexpr uint32_t kVectorBytes = 16;
  static constexpr uint32_t kToTheRight = 128 / kVectorBytes;
  static constexpr uint32_t kBelow = 256 / kVectorBytes;
  uint32_t low_;
};

// States whether a product is the first of its sums, or is added to them.
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

// left: the left operand of mma.m16n8k16, for each warp's 16 rows.
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

// Orders the writes of registers before the products that read them.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Makes a group of the products since the last commit.
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most `kLeft` groups are not finished.
template <int kLeft>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// Makes what this thread has written to shared memory visible to all products after the next barrier, and what it has
// seen there visible to its own products.
__device__ inline void publish_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// The weights.

// The fragments of a warp. Fragment i of all four warps of a warpgroup is one left operand. Loops over fragments are
// unrolled, so that where a fragment is kept is known at compile time.
template <class S>
class GridWeights {
  static_assert(S::kInL2 == 0);

 public:
  // packed: the fragments of this warp, one after the other. shared: room for those of the block, 512 bytes for each
  // fragment of each warp.
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

  // Returns whether fragment i, in the order of the packed weights, is in registers.
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

// Packing. One thread packs the 8 numbers that one lane loads of a fragment. If the fragment is for registers, these
// are the numbers that the lane holds (in the order of cluster/weights.h); if it is for shared memory, they are 8
// columns of one row.

// A number of the packed weights.
struct GridElement {
  int block, warp, fragment;
  int row, column;  // of the fragment
  __device__ int warpgroup() const { return warp / kWarpsPerGroup; }
  __device__ int row_of_tile() const { return warp % kWarpsPerGroup * kTileRows + row; }
};

template <class T>
struct GridForwardOrder {
  using Slice = typename T::ForwardSlice;
  __device__ static Place place_of(const GridElement& e) {
    const int row = e.fragment % T::kRowTiles * kWarpgroupRows + e.row_of_tile();
    const int step = e.warpgroup() * T::kColumnSteps + e.fragment / T::kRowTiles;
    return {row / T::kUnits, e.block * T::kUnits + row % T::kUnits, step * kColumnsAStep + e.column};
  }
};

template <class T>
struct GridBackwardOrder {
  using Slice = typename T::BackwardSlice;
  __device__ static Place place_of(const GridElement& e) {
    constexpr int kOfTile = T::kPartners * T::kGateSteps;
    const int step = e.fragment % kOfTile;
    const int column = step % T::kGateSteps * kColumnsAStep + e.column;
    const int tile = (e.block % T::kPartners * T::kWarpgroups + e.warpgroup()) * T::kUnitTiles + e.fragment / kOfTile;
    const int from = T::partner_of(e.block, step / T::kGateSteps);
    return {column / T::kUnits, from * T::kUnits + column % T::kUnits, tile * kWarpgroupRows + e.row_of_tile()};
  }
};

// Sets the row and the column of number `i` of a lane's 8.
__device__ inline void place_in_fragment(int lane, int i, bool is_for_registers, GridElement& e) {
  e.row = is_for_registers ? (i >> 1 & 1) * 8 + lane / 4 : lane / 16 * 8 + lane % 8;
  e.column = is_for_registers ? (i >> 2) * 8 + lane % 4 * 2 + (i & 1) : lane / 8 % 2 * 8 + i;
}

template <class T, template <class> class Order>
__global__ void grid_pack_kernel(RecurrentWeights weights, int hidden_size, uint4* packed) {
  using S = typename Order<T>::Slice;
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int lane = index % kLanes;
  GridElement e = {};
  e.fragment = index / kLanes % S::kFragments;
  e.warp = index / (kLanes * S::kFragments) % T::kWarps;
  e.block = index / (kLanes * S::kFragments * T::kWarps);
  if (e.block >= T::kBlocks) return;

  const WeightReader<T> reader(weights, hidden_size);
  float numbers[8];
  for (int i = 0; i < 8; ++i) {
    place_in_fragment(lane, i, GridWeights<S>::is_in_registers(e.fragment), e);
    numbers[i] = reader.at(Order<T>::place_of(e));
  }
  const auto word = [&](int i) { return pack<typename T::Numbers::Operand>(numbers[2 * i], numbers[2 * i + 1]); };
  packed[index] = make_uint4(word(0), word(1), word(2), word(3));
}

}  // namespace rnnlab::kernels::persistent
