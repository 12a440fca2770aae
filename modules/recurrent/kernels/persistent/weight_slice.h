// A warp's part of the recurrent weights on the chip, and its product with the group's vectors.
#pragma once

#include "recurrent/kernels/persistent/fragments.h"
#include "recurrent/kernels/persistent/tiles.h"

namespace rnnlab::kernels::persistent {

struct Pair {
  uint4 low, high;  // columns 0-15 and 16-31 of the tile pair
};

// All that the loops below ask of an index is known when they are unrolled, so that no register is indexed at run time.
template <class S>
class WeightSlice {
 public:
  // packed: of this warp, pair after pair. shared: room for the block's pairs, at 1024 bytes a pair and warp.
  __device__ WeightSlice(const uint4* packed, uint4* shared, int warp, int lane)
      : packed_(packed + lane), shared_(shared + warp * S::kInShared * 2 * kLanes + lane) {
#pragma unroll
    for (int i = 0; i < S::kPairs; ++i) {
      if (is_in_registers(i)) {
        registers_[spread_before(i, S::kInRegisters, S::kPairs)] = read(packed_, i);
      } else if (!is_in_l2(i)) {
        const Pair pair = read(packed_, i);
        uint4* place = shared_ + shared_before(i) * 2 * kLanes;
        place[0] = pair.low;
        place[kLanes] = pair.high;
      }
    }
  }

  // Asks for the first pairs from L2, which wait for no step.
  __device__ void read_ahead() {
#pragma unroll
    for (int i = 0; i < S::kReadAhead; ++i) on_the_way_[i] = read(packed_, pair_of_l2(i));
  }

  // sums += weights * vectors. vectors: kTiles tiles of sequences, each kColumnPairs * 32 uint4 of shared memory, from
  // this thread's place on. Where a warp has few row tiles, two chains of sums each keep the tensor cores busy.
  template <class Operand, int kTiles>
  __device__ void multiply(const uint4* vectors, float (&sums)[S::kRowTiles][kTiles][4]) {
    float others[S::kRowTiles][kTiles][4] = {};
    constexpr bool kHasTwoChains = S::kRowTiles * kTiles <= 4;
#pragma unroll
    for (int column = 0; column < S::kColumnPairs; ++column) {
      uint4 b[kTiles];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) b[tile] = vectors[(tile * S::kColumnPairs + column) * kLanes];
#pragma unroll
      for (int row = 0; row < S::kRowTiles; ++row) {
        const Pair a = take(column * S::kRowTiles + row);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          multiply_add<Operand>(sums[row][tile], a.low, b[tile].x, b[tile].y);
          multiply_add<Operand>(kHasTwoChains ? others[row][tile] : sums[row][tile], a.high, b[tile].z, b[tile].w);
        }
      }
    }
    if constexpr (kHasTwoChains) {
#pragma unroll
      for (int row = 0; row < S::kRowTiles; ++row)
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[row][tile][i] += others[row][tile][i];
    }
  }

 private:
  __device__ static Pair read(const uint4* packed, int i) {
    return {__ldg(packed + i * 2 * kLanes), __ldg(packed + (i * 2 + 1) * kLanes)};
  }

  __device__ static constexpr int rest_before(int i) { return i - spread_before(i, S::kInRegisters, S::kPairs); }
  __device__ static constexpr int l2_before(int i) {
    return spread_before(rest_before(i), S::kInL2, S::kPairs - S::kInRegisters);
  }
  __device__ static constexpr int shared_before(int i) { return rest_before(i) - l2_before(i); }
  __device__ static constexpr bool is_in_registers(int i) { return is_in_spread(i, S::kInRegisters, S::kPairs); }
  __device__ static constexpr bool is_in_l2(int i) {
    return !is_in_registers(i) && is_in_spread(rest_before(i), S::kInL2, S::kPairs - S::kInRegisters);
  }
  // The inverse of l2_before, in closed form so that it is known at compile time.
  __device__ static constexpr int pair_of_l2(int count) {
    constexpr int kRest = S::kPairs - S::kInRegisters;
    constexpr int kCounts = S::kInL2 > 0 ? S::kInL2 : 1;
    const int rest = ((count + 1) * kRest + kCounts - 1) / kCounts - 1;
    return rest * S::kPairs / (kRest > 0 ? kRest : 1);
  }

  __device__ Pair take(int i) {
    if (is_in_registers(i)) return registers_[spread_before(i, S::kInRegisters, S::kPairs)];
    if (!is_in_l2(i)) {
      const uint4* place = shared_ + shared_before(i) * 2 * kLanes;
      return {place[0], place[kLanes]};
    }
    const int count = l2_before(i);
    const Pair pair = on_the_way_[count % kSlots];
    if (count + S::kReadAhead < S::kInL2)
      on_the_way_[count % kSlots] = read(packed_, pair_of_l2(count + S::kReadAhead));
    return pair;
  }

  static constexpr int kSlots = S::kReadAhead > 0 ? S::kReadAhead : 1;
  static constexpr int kHeld = S::kInRegisters > 0 ? S::kInRegisters : 1;
  const uint4* packed_;
  uint4* shared_;
  Pair registers_[kHeld];
  Pair on_the_way_[kSlots];
};

}  // namespace rnnlab::kernels::persistent
