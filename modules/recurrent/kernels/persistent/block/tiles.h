// SPDX-License-Identifier: Apache-2.0
// Which part of a layer a warp and a thread of a block kernel compute, as host and device know it. One block holds all
// recurrent weights and computes one group of sequences, so no data leave the block between steps. A warp owns 16
// hidden units, which are the 16 rows of a fragment (shared/sizes.h), with all their gates, forward and backward. The
// threads of a warp are numbered as in the fragments of mma.m16n8k16: lane = 4 * row + column, row 0-7, column 0-3.
//
// The right operand of a product has room for 8 sequences in a tile. A group may leave every second column empty: the
// products then take as long as before, and each thread has half of the activations.
#pragma once

#include "recurrent/kernels/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

constexpr int kUnitsOfBlockWarp = kTileRows;
constexpr int kRegistersOfSm = 65536;
constexpr int kMostRegisters = 255;  // of a thread

// kColumnsOf: sequences of a thread in a tile, 2, or 1 if every second column is empty.
template <class CellOf, class NumbersOf, int kHiddenSizeOf, int kTilesOf, int kColumnsOf, Fit kFitOf,
          int kSharedBytesOf>
struct BlockTiles {
  using Cell = CellOf;
  using Numbers = NumbersOf;
  static constexpr int kGates = Cell::kGates;
  static constexpr int kParts = Numbers::kParts;
  static constexpr int kHiddenSize = kHiddenSizeOf;
  static constexpr Fit kFit = kFitOf;
  static constexpr int kBlocks = 1;
  static constexpr int kWarps = kHiddenSize / kUnitsOfBlockWarp;
  static constexpr int kThreads = kWarps * kLanes;
  static constexpr int kTiles = kTilesOf;
  static constexpr int kColumns = kColumnsOf;
  static constexpr int kSequencesOfTile = 4 * kColumns;
  static constexpr int kSequences = kTiles * kSequencesOfTile;
  static constexpr int kCells = 2 * kTiles * kColumns;  // states of a thread: of two units, 8 apart
  static constexpr int kSharedBytes = kSharedBytesOf;
  static_assert(kHiddenSize % kColumnsAtOnce == 0 && (kColumns == 1 || kColumns == 2));

  // The unit, tile and column of a thread's cell.
  __host__ __device__ static constexpr int half_of(int cell) { return cell % 2; }
  __host__ __device__ static constexpr int tile_of(int cell) { return cell / 2 / kColumns; }
  __host__ __device__ static constexpr int column_of(int cell) { return cell / 2 % kColumns; }

  static constexpr int kColumnSteps = kHiddenSize / kColumnsAtOnce;

  // Buffers in shared memory, in vectors of 16 bytes: two for the hidden states, or, backward, two for the gates'
  // gradients, of which a lane has two words for each gate.
  static constexpr int kVectorsOfGates = (2 * kGates + 3) / 4;
  static constexpr int kHiddenVectors = kColumnSteps * kLanes * kTiles * kParts;
  static constexpr int kGateVectors = kWarps * kVectorsOfGates * kLanes * kTiles * kParts;
  static constexpr int kForwardBufferBytes = 2 * 16 * kHiddenVectors;
  static constexpr int kBackwardBufferBytes = 2 * 16 * kGateVectors;

  // As many fragments are kept in registers as leave room for all else: sums, the inputs of the next step, and results.
  static constexpr int kRegisters = smaller(kMostRegisters, kRegistersOfSm / kThreads);
  static constexpr int kForwardRest = 44 + 4 * kGates * kTiles + kCells * (kGates + 7) + 12 * (kParts - 1) * kTiles;
  static constexpr int kBackwardRest = 68 + kCells * 12 + 8 * kTiles + 40 * (kParts - 1) * kTiles;
  static constexpr int kForwardMost = larger(0, kRegisters - kForwardRest) / 4;
  static constexpr int kBackwardMost = larger(0, kRegisters - kBackwardRest) / 4;
  static constexpr int kFragments = kGates * kParts * kHiddenSize / kTileRows;
  using ForwardSlice = Slice<kFragments, kWarps, kForwardBufferBytes, kForwardMost, kSharedBytes>;
  using BackwardSlice = Slice<kFragments, kWarps, kBackwardBufferBytes, kBackwardMost, kSharedBytes>;
};

}  // namespace rnnlab::kernels::persistent
