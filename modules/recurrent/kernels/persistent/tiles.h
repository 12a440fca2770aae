// Who owns what. A cluster of P blocks holds all recurrent weights and computes one group of N sequences; each of a
// block's W warps owns 8 hidden units, all four gates of them, so that a cell state never leaves its thread. Threads of
// a warp are named by the fragments of mma.m16n8k16: lane = 4 * row + column, row 0-7, column 0-3.
//
// Weights are held as "tile pairs": 16 rows by 32 columns, two 16 bytes a thread. In the forward pass the rows of a
// warp's two tiles are its units' gates (i, f) and (g, o), and the columns are all H units; in the backward pass the
// rows are units, and the columns the block's own gates. Pairs live in registers, then in shared memory, and what does
// not fit there is read from L2 at every step.
#pragma once

#include <cuda_runtime.h>

namespace rnnlab::kernels::persistent {

constexpr int kLanes = 32;
constexpr int kUnitsPerWarp = 8;
constexpr int kSequencesPerTile = 8;  // columns of an mma
constexpr int kTileRows = 16;
constexpr int kPairColumns = 32;
constexpr int kPairBytesPerWarp = 1024;
constexpr int kSharedBytes = 227 * 1024;
constexpr int kOtherSharedBytes = 1024;  // mbarriers and the like

__host__ __device__ constexpr int smaller(int a, int b) { return a < b ? a : b; }

// Where pair `i` of `total` is when `part` of them are spread evenly: how many of the part come before it.
__host__ __device__ constexpr int spread_before(int i, int part, int total) {
  return total == 0 ? 0 : i * part / total;
}
__host__ __device__ constexpr bool is_in_spread(int i, int part, int total) {
  return spread_before(i + 1, part, total) > spread_before(i, part, total);
}

// kRowTiles by kColumnPairs tile pairs a warp; kBufferBytes is what the exchange takes of shared memory.
template <int kRowTilesOf, int kColumnPairsOf, int kWarpsOf, int kBufferBytesOf, int kMostInRegisters>
struct Slice {
  static constexpr int kRowTiles = kRowTilesOf;
  static constexpr int kColumnPairs = kColumnPairsOf;
  static constexpr int kWarps = kWarpsOf;
  static constexpr int kPairs = kRowTiles * kColumnPairs;
  static constexpr int kRoom = (kSharedBytes - kOtherSharedBytes - kBufferBytesOf) / (kWarps * kPairBytesPerWarp);
  static constexpr int kInRegisters = smaller(kPairs, kMostInRegisters);
  static constexpr int kInShared = smaller(kPairs - kInRegisters, kRoom);
  static constexpr int kInL2 = kPairs - kInRegisters - kInShared;
  static constexpr int kReadAhead = smaller(kInL2, 4);  // pairs from L2 on their way
};

template <int kHiddenSizeOf, int kWarpsOf, int kTilesOf>
struct Tiles {
  static constexpr int kHiddenSize = kHiddenSizeOf;
  static constexpr int kWarps = kWarpsOf;
  static constexpr int kThreads = kWarps * kLanes;
  static constexpr int kUnits = kWarps * kUnitsPerWarp;  // of a block
  static constexpr int kBlocks = kHiddenSize / kUnits;   // of a cluster
  static constexpr int kTiles = kTilesOf;                // of sequences
  static constexpr int kSequences = kTiles * kSequencesPerTile;
  static constexpr int kUnitTiles = kUnits / kTileRows;  // of a block, in the backward pass
  static_assert(kBlocks * kUnits == kHiddenSize && kUnits % kTileRows == 0 && kBlocks <= 16);

  // Two buffers of the group's hidden states, and of what each block adds to the gradients of a block's own.
  static constexpr int kHiddenVectors = kHiddenSize / kPairColumns * kLanes * kTiles;
  static constexpr int kSumVectors = kHiddenSize / kTileRows * kLanes * kTiles;
  static constexpr int kGateVectors = kWarps * kLanes * kTiles;
  static constexpr int kForwardBufferBytes = 2 * 16 * kHiddenVectors;
  static constexpr int kBackwardBufferBytes = 2 * 16 * (kSumVectors + kGateVectors);

  // As many pairs as leave registers for the rest, which in the backward pass of large layers are sums.
  static constexpr bool kHasManySums = kHiddenSize > 768;
  static constexpr int kForwardPairs = kTiles == 1 ? 20 : 16;
  static constexpr int kBackwardPairs = kTiles == 1 ? (kHasManySums ? 16 : 20) : (kHasManySums ? 14 : 16);
  using ForwardSlice = Slice<2, kHiddenSize / kPairColumns, kWarps, kForwardBufferBytes, kForwardPairs>;
  using BackwardSlice = Slice<kHiddenSize / kTileRows / kWarps, kWarps, kWarps, kBackwardBufferBytes, kBackwardPairs>;
  static_assert(BackwardSlice::kRowTiles * kWarps * kTileRows == kHiddenSize);

  static constexpr int kForwardSharedBytes = kForwardBufferBytes + ForwardSlice::kInShared * kWarps * kPairBytesPerWarp;
  static constexpr int kBackwardSharedBytes =
      kBackwardBufferBytes + BackwardSlice::kInShared * kWarps * kPairBytesPerWarp;

  // The tile of 16 units that row tile `i` of a warp computes in the backward pass, counted over the cluster. Blocks
  // begin with their own, so that they do not all send to the same one at once.
  __host__ __device__ static constexpr int unit_tile(int block, int warp, int i) {
    return (warp * BackwardSlice::kRowTiles + i + block * kUnitTiles) % (kHiddenSize / kTileRows);
  }
};

}  // namespace rnnlab::kernels::persistent
