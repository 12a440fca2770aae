// Who owns what. A cluster of P blocks holds all recurrent weights and computes one group of N sequences; each of a
// block's W warps owns 8 hidden units, all gates of them, so that a cell state never leaves its thread. Threads of a
// warp are named by the fragments of mma.m16n8k16: lane = 4 * row + column, row 0-7, column 0-3.
//
// Weights are held as fragments: 16 rows by 16 columns, 16 bytes a thread; where a factor has two parts, one fragment
// for each. Fragments live in registers, then in shared memory, and what does not fit there is read from L2 at every
// step. products.h says which rows and columns a fragment has.
//
// Two teams of warps may share a block's units: each warp then multiplies half of the columns, and each team has the
// states of a group of sequences of its own; the groups take turns (team_forward.h).
//
// A layer whose size is between two that there are kernels for is one of the larger size whose last units have weights
// and inputs of 0: their states stay 0, and they are read from and written to nowhere.
#pragma once

#include <cuda_runtime.h>

namespace rnnlab::kernels::persistent {

constexpr int kLanes = 32;
constexpr int kUnitsPerWarp = 8;
constexpr int kSequencesPerTile = 8;  // columns of an mma
constexpr int kTileRows = 16;
constexpr int kColumnsAtOnce = 32;  // hidden states that a lane reads as one
constexpr int kFragmentBytesPerWarp = 512;
constexpr int kOtherSharedBytes = 1024;  // of a block, at most: mbarriers and the like

// What a block may have of shared memory: on GPUs of compute capability 9.0 and 10.x, and of 12.x.
constexpr int kMuchShared = 227 * 1024;
constexpr int kLittleShared = 99 * 1024;

__host__ __device__ constexpr int smaller(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int larger(int a, int b) { return a < b ? b : a; }

// Where fragment `i` of `total` is when `part` of them are spread evenly: how many of the part come before it.
__host__ __device__ constexpr int spread_before(int i, int part, int total) {
  return total == 0 ? 0 : i * part / total;
}
__host__ __device__ constexpr bool is_in_spread(int i, int part, int total) {
  return spread_before(i + 1, part, total) > spread_before(i, part, total);
}

// kFragments a warp; kBufferBytes is what the exchange takes of kSharedBytes, which may be more than there is.
template <int kFragmentsOf, int kWarpsOf, int kBufferBytesOf, int kMostInRegisters, int kSharedBytes>
struct Slice {
  static constexpr int kWarps = kWarpsOf;
  static constexpr int kFragments = kFragmentsOf;
  static constexpr int kRoomBytes = larger(kSharedBytes - kOtherSharedBytes - kBufferBytesOf, 0);
  static constexpr int kRoom = kRoomBytes / (kWarps * kFragmentBytesPerWarp);
  static constexpr int kInRegisters = smaller(kFragments, kMostInRegisters);
  static constexpr int kInShared = smaller(kFragments - kInRegisters, kRoom);
  static constexpr int kInL2 = kFragments - kInRegisters - kInShared;
  static constexpr int kReadAhead = smaller(kInL2, 8);  // fragments from L2 on their way
  static constexpr int kSharedBytesOfAll = kBufferBytesOf + kInShared * kWarps * kFragmentBytesPerWarp;
};

// Whether a layer is as large as its kernel, so that all places in tensors are known when it is compiled, or smaller.
enum class Fit { kWhole, kPadded };

template <class CellOf, class NumbersOf, int kHiddenSizeOf, int kWarpsOf, int kTilesOf, Fit kFitOf = Fit::kPadded,
          int kTeamsOf = 1, int kSharedBytesOf = kMuchShared>
struct Tiles {
  using Cell = CellOf;
  using Numbers = NumbersOf;
  static constexpr int kGates = Cell::kGates;
  static constexpr int kParts = Numbers::kParts;
  static constexpr int kHiddenSize = kHiddenSizeOf;
  static constexpr Fit kFit = kFitOf;
  static constexpr int kWarps = kWarpsOf;
  static constexpr int kThreads = kWarps * kLanes;
  static constexpr int kTeams = kTeamsOf;
  static constexpr int kUnitWarps = kWarps / kTeams;         // of a team
  static constexpr int kUnits = kUnitWarps * kUnitsPerWarp;  // of a block
  static constexpr int kBlocks = kHiddenSize / kUnits;       // of a cluster
  static constexpr int kTiles = kTilesOf;                    // of sequences, a team
  static constexpr int kSequences = kTeams * kTiles * kSequencesPerTile;
  static constexpr int kSharedBytes = kSharedBytesOf;
  static_assert(kBlocks * kUnits == kHiddenSize && kUnits % kTileRows == 0 && kBlocks <= 16);

  // Forward: rows are gates of a warp's units, two a tile and the odd one in half a tile; columns are all units.
  static constexpr int kGateTiles = (kGates + 1) / 2;
  static constexpr int kColumnSteps = kHiddenSize / kColumnsAtOnce;
  static constexpr int kStepsOfTeam = kColumnSteps / kTeams;
  // Backward: rows are units, 16 a tile, shared out among the warps; columns are the block's gates.
  static constexpr int kUnitTiles = kUnits / kTileRows;  // of a block
  static constexpr int kRowTiles = kHiddenSize / kTileRows / kWarps;
  static_assert(kRowTiles * kWarps * kTileRows == kHiddenSize);

  // Two buffers a team of its group's hidden states, and of what each block adds to the gradients of a block's own.
  static constexpr int kHiddenVectors = kColumnSteps * kLanes * kTiles * kParts;
  static constexpr int kSumVectors = kHiddenSize / kTileRows * kLanes * kTiles;
  static constexpr int kGateVectors = kUnitWarps * kLanes * kTiles * kParts;
  // Sums that a team has for another one.
  static constexpr int kPartialVectors = kTeams == 1 ? 0 : kWarps * kLanes * kGateTiles * kTiles;
  static constexpr int kForwardBufferBytes = 16 * (2 * kTeams * kHiddenVectors + kPartialVectors);
  static constexpr int kBackwardBufferBytes = 2 * 16 * kTeams * (kSumVectors + kGateVectors);

  // As many fragments in registers as leave room for the rest: sums, of which the backward pass of large layers has
  // many, vectors of all parts, and what is on its way from L2.
  static constexpr bool kIsLarge = kHiddenSize > 768;
  static constexpr int kForwardMost = (kTiles == 1 ? 40 : (kIsLarge ? 28 : 32)) - 4 * (kParts - 1);
  static constexpr int kBackwardMost =
      (kTiles == 1 ? (kIsLarge ? 32 : 40) : (kRowTiles > 6 ? 24 : 28)) - 6 * (kParts - 1);
  using ForwardSlice = Slice<kGates * kParts * kStepsOfTeam, kWarps, kForwardBufferBytes, kForwardMost, kSharedBytes>;
  using BackwardSlice =
      Slice<kGates * kParts * kRowTiles * kUnitWarps / 2, kWarps, kBackwardBufferBytes, kBackwardMost, kSharedBytes>;

  // The tile of 16 units that row tile `i` of a warp computes in the backward pass, counted over the cluster. Blocks
  // begin with their own, so that they do not all send to the same one at once.
  __host__ __device__ static constexpr int unit_tile(int block, int warp, int i) {
    return (warp * kRowTiles + i + block * kUnitTiles) % (kHiddenSize / kTileRows);
  }
};

}  // namespace rnnlab::kernels::persistent
