// SPDX-License-Identifier: Apache-2.0
// Which part of a layer a warp and a thread of a block kernel compute, as host and device know it. One block holds all
// recurrent weights and computes a group of four sequences, so no data leave the block between steps. A warp owns 16
// hidden units, which are the 16 rows of a fragment (shared/sizes.h), with all their gates, forward and backward. The
// threads of a warp are numbered as in the fragments of mma.m16n8k16: lane = 4 * row + column, row 0-7, column 0-3.
//
// The right operand of a product has eight columns, and a group has four sequences. Columns 2 * s and 2 * s + 1 are two
// different parts of the vector of sequence s. Two fragments of weights are multiplied with the same operand; the even
// columns of the first product and the odd columns of the second are used. So a vector is read once, and without gaps.
// Groups of 8 and of 16 sequences were measured too: they take 1.9 and 3 times as long.
#pragma once

#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

constexpr int kUnitsOfBlockWarp = kTileRows;
constexpr int kSequencesOfBlock = 4;
constexpr int kRegistersOfSm = 65536;
constexpr int kMostRegisters = 255;  // of a thread

template <class CellOf, class NumbersOf, int kHiddenSizeOf, Fit kFitOf, int kSharedBytesOf>
struct BlockTiles {
  using Cell = CellOf;
  using Numbers = NumbersOf;
  static constexpr int kGates = Cell::kGates;
  static constexpr int kParts = Numbers::kParts;
  static constexpr int kHiddenSize = kHiddenSizeOf;
  static constexpr Fit kFit = kFitOf;
  static constexpr int kBlocks = 1;
  static constexpr int kTiles = 1;
  static constexpr int kWarps = kHiddenSize / kUnitsOfBlockWarp;
  static constexpr int kThreads = kWarps * kLanes;
  static constexpr int kSequences = kSequencesOfBlock;
  static constexpr int kCells = 2;  // states of a thread: of two units, 8 apart, for one sequence
  static constexpr int kSharedBytes = kSharedBytesOf;
  static_assert(kHiddenSize % kColumnsAtOnce == 0);

  static constexpr int kColumnSteps = kHiddenSize / kColumnsAtOnce;

  // Buffers in shared memory: two for the hidden states, of which a lane has two words for each column step, or,
  // backward, two for the gates' gradients, of which a lane has two words for each pair of gates.
  static constexpr int kPairs = (kGates + 1) / 2;
  static constexpr int kHiddenWords = 2 * kColumnSteps * kLanes * kParts;
  static constexpr int kGateWords = 2 * kPairs * kWarps * kLanes * kParts;
  static constexpr int kForwardBufferBytes = 2 * 4 * kHiddenWords;
  static constexpr int kBackwardBufferBytes = 2 * 4 * kGateWords;

  // As many fragments are kept in registers as leave room for all else: sums, the inputs of two steps, and results.
  static constexpr int kRegisters = smaller(kMostRegisters, kRegistersOfSm / kThreads);
  static constexpr int kMoreStates = Cell::kStates - 1;
  static constexpr int kForwardRest = 60 + 12 * kGates + 12 * (kParts - 1) + 8 * kMoreStates;
  static constexpr int kBackwardRest =
      112 + 36 * (sizeof(typename Numbers::Value) / 4) + 40 * (kParts - 1) + 16 * kMoreStates;
  static constexpr int kForwardMost = larger(0, kRegisters - kForwardRest) / 4;
  static constexpr int kBackwardMost = larger(0, kRegisters - kBackwardRest) / 4;
  static constexpr int kFragments = kGates * kParts * kHiddenSize / kTileRows;
  using ForwardSlice = Slice<kFragments, kWarps, kForwardBufferBytes, kForwardMost, kSharedBytes>;
  using BackwardSlice = Slice<kFragments, kWarps, kBackwardBufferBytes, kBackwardMost, kSharedBytes>;
};

}  // namespace rnnlab::kernels::persistent
