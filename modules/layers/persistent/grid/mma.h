// SPDX-License-Identifier: Apache-2.0
// The products of a grid kernel by mma.sync and ldmatrix, which every GPU of compute capability 8.0 and later has:
// where a warp keeps its part of the weights, and the products of that part with vectors in shared memory. The rows of
// a warp and the order of its sums are those that it has in a warpgroup (wgmma.h).
#pragma once

#include <cstdint>

#include "layers/persistent/grid/tiles.h"
#include "layers/persistent/shared/cluster_exchange.h"
#include "layers/persistent/shared/fragments.h"

namespace rnnlab::kernels::persistent {

// Reads four 8 by 8 matrices of 16-bit numbers, of which each lane gets two numbers of row lane / 4. address: of row
// lane % 8 of matrix lane / 8.
__device__ inline uint4 read_matrices(uint32_t address) {
  uint4 words;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(address)
               : "memory");
  return words;
}

// The products of a warp. A product is finished before the next instruction that reads its sums, so begin(), commit(),
// wait() and publish() do nothing.
template <int kTiles>
class WarpProducts {
 public:
  static constexpr bool kAreAsynchronous = false;

  __device__ static void begin() {}
  __device__ static void commit() {}
  template <int kLeft>
  __device__ static void wait() {}
  __device__ static void publish() {}

  // 16 rows of the vectors of all sequences, as mma.m16n8k16 takes them for each tile of sequences.
  struct Right {
    uint32_t low[kTiles], high[kTiles];
  };

  // An operand in shared memory: for each 16 rows, tiles of 8 sequences, octets of rows, sequences, which are vectors
  // of 16 bytes. An octet of a tile is a matrix of ldmatrix.
  class Matrix {
   public:
    __device__ explicit Matrix(const uint4* place)
        : address_(shared_address(place) + kVectorBytes * (threadIdx.x % kLanes)) {}

    // The 16 rows that begin `vectors` of 16 bytes after this operand.
    __device__ Right at(int vectors) const {
      Right right;
#pragma unroll
      for (int tile = 0; tile < kTiles; tile += 2) {
        const uint4 words = read_matrices(address_ + kVectorBytes * static_cast<uint32_t>(vectors + tile * 2 * kOctet));
        right.low[tile] = words.x;
        right.high[tile] = words.y;
        right.low[tile + 1] = words.z;
        right.high[tile + 1] = words.w;
      }
      return right;
    }

   private:
    static constexpr uint32_t kVectorBytes = 16;
    uint32_t address_;
  };

  // The fragments of a warp, all in the order in which registers hold them (shared/fragments.h).
  template <class S>
  class Weights {
    static_assert(S::kInL2 == 0);

   public:
    __device__ Weights(const uint4* packed, uint4* shared, int warp, int lane) : slice_(packed, shared, warp, lane) {}

    __host__ __device__ static constexpr bool is_for_registers(int) { return true; }

    template <class Operand>
    __device__ void multiply(int i, Sums how, ProductSums<kTiles>& sums, const Right& right) {
      const uint4 left = slice_.take(i);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        float of_tile[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) of_tile[j] = how == Sums::kBegin ? 0.0f : sums[4 * tile + j];
        multiply_add<Operand>(of_tile, left, right.low[tile], right.high[tile]);
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[4 * tile + j] = of_tile[j];
      }
    }

   private:
    WeightSlice<S> slice_;
  };
};

}  // namespace rnnlab::kernels::persistent
