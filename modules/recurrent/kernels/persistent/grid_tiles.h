// Who owns what when a group of blocks that spans a large part of the GPU holds all recurrent weights, for layers that
// no cluster has room for, or not for as many sequences. A group of P blocks computes 16 or 32 sequences at once, or
// twice 32 that take turns, so that what one waits for comes while the other is computed. Each block owns kUnits hidden
// units, all gates of them. Its two warpgroups multiply by wgmma, 64 rows by 16 columns of weights by all sequences of
// a turn at once:
// - forward, rows are the gates of the block's units, and each warpgroup has half of the columns, which are all units;
// - backward, rows are units and columns are gates: clusters of kPartners blocks share out all units, each warpgroup
//   has half of its block's, and multiplies by the gates of all partners.
// Weights are held as fragments, a warp's 16 rows by 16 columns: in registers, and the rest in shared memory.
#pragma once

#include "recurrent/kernels/persistent/tiles.h"

namespace rnnlab::kernels::persistent {

constexpr int kWarpgroupRows = 64;
constexpr int kColumnsAStep = 16;
constexpr int kWarpsPerGroup = 4;  // of a warpgroup
constexpr int kOctet = 8;          // units that travel as one vector

// Of a parcel, eight sums of a thread on their way through L2 (grid_parcel.h).
template <class Numbers>
constexpr int kWordsOfParcel = Numbers::kIsScaled ? 5 : 4;

__host__ __device__ constexpr int rounded_up(int value, int step) { return (value + step - 1) / step * step; }

template <class CellOf, class NumbersOf, int kHiddenSizeOf, int kUnitsOf, int kPartnersOf, int kTilesOf = 2,
          int kTurnsOf = 1>
struct GridTiles {
  using Cell = CellOf;
  using Numbers = NumbersOf;
  static constexpr int kGates = Cell::kGates;
  static constexpr int kHiddenSize = kHiddenSizeOf;
  static constexpr int kUnits = kUnitsOf;               // of a block
  static constexpr int kBlocks = kHiddenSize / kUnits;  // of a group
  static constexpr int kWarpgroups = 2;
  static constexpr int kWarps = kWarpgroups * kWarpsPerGroup;
  static constexpr int kThreads = kWarps * kLanes;
  static constexpr int kTiles = kTilesOf;
  static constexpr int kSequences = kTiles * kSequencesPerTile;  // of a turn
  static constexpr int kTurns = kTurnsOf;                        // of a step
  static constexpr int kSequencesOfGroup = kTurns * kSequences;
  static constexpr int kCells = kUnits * kSequences / kThreads;  // of a thread: one unit, every kStride-th sequence
  static constexpr int kStride = kThreads / kUnits;
  static constexpr int kWarpsOfSequence = kUnits > kLanes ? kUnits / kLanes : 1;
  static_assert(Numbers::kParts == 1 && kCells * kThreads == kUnits * kSequences && kTiles % 2 == 0);
  static_assert(kHiddenSize % (kWarpgroups * kWarpgroupRows) == 0 && kBlocks * kUnits == kHiddenSize);

  // Forward.
  static constexpr int kRows = kGates * kUnits;
  static constexpr int kRowTiles = rounded_up(kRows, kWarpgroupRows) / kWarpgroupRows;
  static constexpr int kColumnSteps = kHiddenSize / kColumnsAStep / kWarpgroups;  // of a warpgroup
  static constexpr int kHiddenVectors = kHiddenSize / kOctet * kSequences;
  static constexpr int kVectorsOfThread = kHiddenVectors / kThreads;
  static_assert(kVectorsOfThread * kThreads == kHiddenVectors);
  static constexpr int kSumStride = kRowTiles * kWarpgroupRows + 4;  // 4 more: no two lanes of a warp meet in a bank
  static constexpr int kSums = kSequences * kSumStride;              // of a warpgroup
  // Two take turns where there is room: no warp has to wait until all have read a step's sums.
  static constexpr int kProductBuffers = kTiles == 2 ? 2 : 1;
  static constexpr int kForwardBufferBytes = 16 * kHiddenVectors + kProductBuffers * kWarpgroups * kSums * 4;

  // Backward.
  static constexpr int kPartners = kPartnersOf;
  // The block that is `i` after this one in their circle.
  __host__ __device__ static constexpr int partner_of(int block, int i) {
    return block / kPartners * kPartners + (block + i) % kPartners;
  }
  static constexpr int kUnitTiles = kHiddenSize / kPartners / kWarpgroupRows / kWarpgroups;  // of a warpgroup
  static constexpr int kUnitTilesAtOnce = kTiles == 2 ? kUnitTiles : smaller(kUnitTiles, 4 / kPartners);  // products
  static constexpr int kGateSteps = kGates * kUnits / kColumnsAStep;  // of a partner
  static constexpr int kGateVectors = kGateSteps * 2 * kSequences;
  static constexpr int kSenders = kBlocks / kPartners;                    // to a block
  static constexpr int kTilePairs = kTiles / 2;                           // a parcel has sums of both tiles
  static constexpr int kParcelsOfLane = kUnits / kTileRows * kTilePairs;  // by each sender a step
  static constexpr int kParcels = kParcelsOfLane * kLanes;
  static constexpr int kShares = kThreads / kParcels;  // threads that add up the same sums
  static constexpr int kSendersAShare = kSenders / kShares;
  static constexpr int kReceivedStride = kUnits + 4;
  static constexpr int kReceived = kSequences * kReceivedStride;  // of a share
  static constexpr int kBackwardBufferBytes =
      2 * kPartners * (16 * kGateVectors + 4 * kSequences) + 4 * kShares * kReceived;
  static_assert(kShares * kParcels == kThreads && kSendersAShare * kShares * kPartners == kBlocks);
  static_assert(kUnitTiles * kPartners * kWarpgroups * kWarpgroupRows == kHiddenSize);

  // As many of `vectors` as a thread has registers for beside all else.
  __host__ __device__ static constexpr int received_at_once(int vectors) {
    if (kTiles == 2) return vectors;
    return vectors % 8 == 0 ? 8 : smaller(vectors, 6);
  }

  static constexpr int kParcelsAtOnce = received_at_once(kSendersAShare);

  // As many fragments in registers as leave room for what a thread receives, and for sums; in kernels for groups of 32
  // sequences, as many as were measured to be the fastest (docs/results/2026-11-22-sums.md).
  static constexpr int kForwardMost = kTiles > 2 ? (kHiddenSize == 1024 ? 32 : 20) : (kHiddenSize > 1024 ? 30 : 36);
  static constexpr int kBackwardMost = kHiddenSize > 1024 ? 24 : (kTiles > 2 ? 20 : 28);
  using ForwardSlice = Slice<kRowTiles * kColumnSteps, kWarps, kForwardBufferBytes, kForwardMost, kMuchShared>;
  using BackwardSlice =
      Slice<kUnitTiles * kPartners * kGateSteps, kWarps, kBackwardBufferBytes, kBackwardMost, kMuchShared>;

  // What a group exchanges through L2, each turn's by itself: hidden states in four buffers, one after the other, or
  // sums in two.
  static constexpr int kHiddenBuffers = 4;
  static constexpr int kSumBuffers = 2;
  static constexpr size_t kForwardExchangeBytes = size_t{16} * kTurns * kHiddenBuffers * kHiddenVectors;
  static constexpr int kSumBufferWords = kBlocks * kSenders * kParcelsOfLane * kLanes * kWordsOfParcel<Numbers>;
  static constexpr size_t kBackwardExchangeBytes = size_t{4} * kTurns * kSumBuffers * kSumBufferWords;
};

}  // namespace rnnlab::kernels::persistent
