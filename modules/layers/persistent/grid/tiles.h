// SPDX-License-Identifier: Apache-2.0
// Which part of a layer a group of blocks, a block, a warp and a thread compute if the group spans a large part of the
// GPU, as host and device know it. This is for layers for which a cluster has too little room, or too little for as
// many sequences. A group of P blocks holds all recurrent weights. It computes 16 or 32 sequences at once, or twice 32
// that take turns: what one half waits for arrives while the other half is computed. Each block owns kUnits hidden
// units, with all their gates. Its two warpgroups multiply 64 rows by 16 columns of weights by all sequences of a turn:
// by one wgmma, or, on GPUs without it, each of the four warps multiplies 16 rows by mma.sync.
// - Forward, rows are the gates of the block's units. Columns are all units, and each warpgroup has half of them.
// - Backward, rows are units and columns are gates. A cluster of kPartners blocks divides all units among its blocks;
//   each warpgroup has half of its block's units, and multiplies them by the gates of all blocks of the cluster.
//   Without wgmma there are no clusters: a block is its only partner.
// Weights are held as fragments (shared/sizes.h), in registers and in shared memory.
#pragma once

#include <cstddef>

#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

constexpr int kWarpgroupRows = 64;
constexpr int kColumnsAStep = 16;
constexpr int kWarpsPerGroup = 4;  // warps of a warpgroup
constexpr int kOctet = 8;          // hidden states that are handed over as one vector

// A pack is eight partial sums of a thread in the form that blocks exchange through L2 (exchange.h).
template <class Numbers>
constexpr int kWordsOfPack = Numbers::kIsScaled ? 5 : 4;

__host__ __device__ constexpr int rounded_up(int value, int step) { return (value + step - 1) / step * step; }

// The instructions of products: wgmma, which only compute capability 9.0 has, or mma.sync, which every GPU from 8.0 on
// has.
enum class Multiplier { kWgmma, kMma };

// The sums of a thread, 4 for each tile of 8 sequences: rows `row` and row + 8 of its warp's 16, columns 2 * column and
// 2 * column + 1.
template <int kTiles>
using ProductSums = float[4 * kTiles];

// States whether a product is the first of its sums, or is added to them.
enum class Sums { kBegin, kContinue };

template <class CellOf, class NumbersOf, int kHiddenSizeOf, int kUnitsOf, int kPartnersOf, int kTilesOf = 2,
          int kTurnsOf = 1, Multiplier kMultiplierOf = Multiplier::kWgmma, int kSharedBytesOf = kMuchShared>
struct GridTiles {
  using Cell = CellOf;
  using Numbers = NumbersOf;
  static constexpr Multiplier kMultiplier = kMultiplierOf;
  static constexpr int kSharedBytes = kSharedBytesOf;
  static constexpr int kGates = Cell::kGates;
  static constexpr int kHiddenSize = kHiddenSizeOf;
  static constexpr int kUnits = kUnitsOf;               // units of a block
  static constexpr int kBlocks = kHiddenSize / kUnits;  // blocks of a group
  static constexpr int kWarpgroups = 2;
  static constexpr int kWarps = kWarpgroups * kWarpsPerGroup;
  static constexpr int kThreads = kWarps * kLanes;
  static constexpr int kTiles = kTilesOf;
  static constexpr int kSequences = kTiles * kSequencesPerTile;  // sequences of a turn
  static constexpr int kTurns = kTurnsOf;                        // turns of a step
  static constexpr int kSequencesOfGroup = kTurns * kSequences;
  static constexpr int kCells = kUnits * kSequences / kThreads;  // cells of a thread: a unit, every kStride-th sequence
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
  static constexpr int kSumStride = kRowTiles * kWarpgroupRows + 4;  // with 4 more, the lanes of a warp use all banks
  static constexpr int kSums = kSequences * kSumStride;              // of a warpgroup
  // If there is room, two buffers are used in turn, so that warps do not wait until all have read a step's sums.
  static constexpr int kProductBuffers = kTiles == 2 ? 2 : 1;
  static constexpr int kForwardBufferBytes = 16 * kHiddenVectors + kProductBuffers * kWarpgroups * kSums * 4;

  // Backward.
  static constexpr int kPartners = kPartnersOf;
  static_assert(kMultiplier == Multiplier::kWgmma || kPartners == 1);
  // Returns the block that is `i` places after `block` in the circle of its cluster.
  __host__ __device__ static constexpr int partner_of(int block, int i) {
    return block / kPartners * kPartners + (block + i) % kPartners;
  }
  static constexpr int kUnitTiles = kHiddenSize / kPartners / kWarpgroupRows / kWarpgroups;  // of a warpgroup
  // Tiles of units whose products a warpgroup computes at the same time.
  static constexpr int kUnitTilesAtOnce = kTiles == 2 ? kUnitTiles : smaller(kUnitTiles, 4 / kPartners);
  static constexpr int kGateSteps = kGates * kUnits / kColumnsAStep;  // of a partner
  static constexpr int kGateVectors = kGateSteps * 2 * kSequences;
  static constexpr int kSenders = kBlocks / kPartners;                  // blocks that send to a block
  static constexpr int kTilePairs = kTiles / 2;                         // a pack has the sums of two tiles
  static constexpr int kPacksOfLane = kUnits / kTileRows * kTilePairs;  // from each sender in a step
  static constexpr int kPacks = kPacksOfLane * kLanes;
  static constexpr int kShares = kThreads / kPacks;  // threads that add up the same sums
  static constexpr int kSendersAShare = kSenders / kShares;
  static constexpr int kReceivedStride = kUnits + 4;
  static constexpr int kReceived = kSequences * kReceivedStride;  // of a share
  static constexpr int kBackwardBufferBytes =
      2 * kPartners * (16 * kGateVectors + 4 * kSequences) + 4 * kShares * kReceived;
  static_assert(kShares * kPacks == kThreads && kSendersAShare * kShares * kPartners == kBlocks);
  static_assert(kUnitTiles * kPartners * kWarpgroups * kWarpgroupRows == kHiddenSize);

  // How many of `vectors` a thread receives at a time: as many as it has registers for.
  __host__ __device__ static constexpr int received_at_once(int vectors) {
    if (kTiles == 2) return vectors;
    return vectors % 8 == 0 ? 8 : smaller(vectors, 6);
  }

  static constexpr int kPacksAtOnce = received_at_once(kSendersAShare);

  // As many fragments are kept in registers as leave room for what a thread receives, and for sums. In kernels by wgmma
  // for groups of 32 sequences, the number is the fastest that was measured (docs/results/2026-11-22-sums.md). In those
  // by mma.sync it is as many as hardly spill, or more where the rest would not fit in 99 KB of shared memory.
  static constexpr bool kIsByMma = kMultiplier == Multiplier::kMma;
  static constexpr int kForwardMostOfWgmma = kTiles > 2 ? (kHiddenSize == 1024 ? 32 : 20)
                                                        : (kHiddenSize > 1024 ? 30 : 36);
  static constexpr int kBackwardMostOfWgmma = kHiddenSize > 1024 ? 24 : (kTiles > 2 ? 20 : 28);
  static constexpr int kFewer = kSharedBytes > kLittleShared ? 4 : 0;
  static constexpr int kForwardMostOfMma = kTiles > 2 ? (kHiddenSize == 1024 ? 28 : (kUnits > 16 ? 24 : 20)) - kFewer
                                                      : 36;
  static constexpr int kBackwardMostOfMma = kTiles > 2 ? (kUnits > 16 ? 16 : 20) - kFewer : 28;
  static constexpr int kForwardMost = kIsByMma ? kForwardMostOfMma : kForwardMostOfWgmma;
  static constexpr int kBackwardMost = kIsByMma ? kBackwardMostOfMma : kBackwardMostOfWgmma;
  using ForwardSlice = Slice<kRowTiles * kColumnSteps, kWarps, kForwardBufferBytes, kForwardMost, kSharedBytes>;
  using BackwardSlice =
      Slice<kUnitTiles * kPartners * kGateSteps, kWarps, kBackwardBufferBytes, kBackwardMost, kSharedBytes>;

  // The buffers in L2 through which a group hands over data, separate for each turn: four for hidden states, or two for
  // sums, which are used one after the other.
  static constexpr int kHiddenBuffers = 4;
  static constexpr int kSumBuffers = 2;
  static constexpr size_t kForwardExchangeBytes = size_t{16} * kTurns * kHiddenBuffers * kHiddenVectors;
  static constexpr int kSumBufferWords = kBlocks * kSenders * kPacksOfLane * kLanes * kWordsOfPack<Numbers>;
  static constexpr size_t kBackwardExchangeBytes = size_t{4} * kTurns * kSumBuffers * kSumBufferWords;
};

}  // namespace rnnlab::kernels::persistent
