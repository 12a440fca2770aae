// SPDX-License-Identifier: Apache-2.0
// Which part of a layer a cluster, a block, a warp and a thread compute, as host and device know it. A cluster of P
// blocks holds all recurrent weights and computes one group of N sequences. Each of a block's W warps owns 8 hidden
// units, with all their gates, so that a cell state never leaves its thread. The threads of a warp are numbered as in
// the fragments of mma.m16n8k16: lane = 4 * row + column, row 0-7, column 0-3.
//
// Weights are held as fragments (shared/sizes.h); a number of two parts has one fragment for each. Fragments are kept
// in registers, then in shared memory, and those that do not fit there are read from L2 at every step. weights.h says
// which rows and columns of the weights a fragment has.
//
// Two teams of warps may share a block's units: each warp then multiplies half of the columns, and each team has the
// states of its own group of sequences; the groups take turns (teams.h).
//
// A layer whose size is between two sizes with kernels is computed as a layer of the larger size, whose last units
// have weights and inputs of 0. Their states stay 0, and are neither read from nor written to memory.
#pragma once

#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

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
  static constexpr int kUnitWarps = kWarps / kTeams;         // warps of a team
  static constexpr int kUnits = kUnitWarps * kUnitsPerWarp;  // units of a block
  static constexpr int kBlocks = kHiddenSize / kUnits;       // blocks of a cluster
  static constexpr int kTiles = kTilesOf;                    // tiles of sequences of a team
  static constexpr int kSequences = kTeams * kTiles * kSequencesPerTile;
  static constexpr int kSharedBytes = kSharedBytesOf;
  static_assert(kBlocks * kUnits == kHiddenSize && kUnits % kTileRows == 0 && kBlocks <= 16);

  // Forward: rows are the gates of a warp's units, two gates in a tile of rows, and an odd one in half a tile; columns
  // are all units.
  static constexpr int kGateTiles = (kGates + 1) / 2;
  static constexpr int kColumnSteps = kHiddenSize / kColumnsAtOnce;
  static constexpr int kStepsOfTeam = kColumnSteps / kTeams;
  // Backward: rows are all units, 16 in a tile of rows, divided among the warps; columns are the block's gates.
  static constexpr int kUnitTiles = kUnits / kTileRows;  // tiles of a block's own units
  static constexpr int kRowTiles = kHiddenSize / kTileRows / kWarps;
  static_assert(kRowTiles * kWarps * kTileRows == kHiddenSize);

  // Buffers in shared memory, in vectors of 16 bytes. A team has two for the hidden states of its group, or, backward,
  // two for what each block adds to the gradients of this block's units and two for the gates' gradients of this block.
  static constexpr int kHiddenVectors = kColumnSteps * kLanes * kTiles * kParts;
  static constexpr int kSumVectors = kHiddenSize / kTileRows * kLanes * kTiles;
  static constexpr int kGateVectors = kUnitWarps * kLanes * kTiles * kParts;
  // Sums that a team computes for the other team.
  static constexpr int kPartialVectors = kTeams == 1 ? 0 : kWarps * kLanes * kGateTiles * kTiles;
  static constexpr int kForwardBufferBytes = 16 * (2 * kTeams * kHiddenVectors + kPartialVectors);
  static constexpr int kBackwardBufferBytes = 2 * 16 * kTeams * (kSumVectors + kGateVectors);

  // The buffers of a pair of layers (pair.h).
  static constexpr int kPairForwardBytes = 16 * 6 * kHiddenVectors;
  static constexpr int kPairBackwardBytes = 16 * (6 * kSumVectors + 4 * kGateVectors);

  // As many fragments are kept in registers as leave room for all else: sums, of which the backward pass of large
  // layers has many, vectors of all parts, and fragments that are being read from L2.
  static constexpr bool kIsLarge = kHiddenSize > 768;
  static constexpr int kForwardMost = (kTiles == 1 ? 40 : (kIsLarge ? 28 : 32)) - 4 * (kParts - 1);
  static constexpr int kBackwardMost =
      (kTiles == 1 ? (kIsLarge ? 32 : 40) : (kRowTiles > 6 ? 24 : 28)) - 6 * (kParts - 1);
  using ForwardSlice = Slice<kGates * kParts * kStepsOfTeam, kWarps, kForwardBufferBytes, kForwardMost, kSharedBytes>;
  using BackwardSlice =
      Slice<kGates * kParts * kRowTiles * kUnitWarps / 2, kWarps, kBackwardBufferBytes, kBackwardMost, kSharedBytes>;

  // The tile of 16 units, counted over the cluster, that row tile `i` of a warp computes in the backward pass. Each
  // block begins with its own units, so that not all blocks send to the same one at once.
  __host__ __device__ static constexpr int unit_tile(int block, int warp, int i) {
    return (warp * kRowTiles + i + block * kUnitTiles) % (kHiddenSize / kTileRows);
  }
};

}  // namespace rnnlab::kernels::persistent
