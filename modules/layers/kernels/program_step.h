// SPDX-License-Identifier: Apache-2.0
// Runs one step of any cell by interpreting its program (layers/program), forward or backward: the point-wise part,
// without products. An instruction works on a tile of kTileWidth neighbouring units of one sequence, so that the cost
// of reading it is small. Plain values on plain pointers; step_code.h makes the instructions.
#pragma once

#include <cstdint>

#include "layers/kernels/pointwise.h"
#include "layers/program/operation.h"

namespace rnnlab::kernels {

inline constexpr int64_t kTileWidth = 64;
inline constexpr int kMostTiles = 64;  // that are alive at the same time

enum class TileAction : uint8_t {
  // The operation on tiles a, b and c. Of a leaf: loads it, and `index` is the gate or the state. The side of the
  // hidden state has its place among Sums in `a`.
  kCompute,
  // Loads; `index` is the state or the kept value.
  kLoadStateAfter,
  kLoadKept,
  // Stores of tile `a`.
  kStoreState,
  kStoreKept,
  kStoreInputSide,
  kStoreHiddenSide,
  kStoreCarry,
};

struct TileInstruction {
  TileAction action = TileAction::kCompute;
  Operation operation = Operation::kNumber;  // of kCompute; neither kVector nor kHiddenProduct
  uint8_t target = 0, a = 0, b = 0, c = 0;
  uint8_t index = 0;
  double number = 0;
};

// G gates, S states, of which the first is the hidden state and the others are inner states, K kept values. A forward
// pass leaves out the members of the backward pass, and the other way round.
struct ProgramStep {
  Step step;
  const TileInstruction* instructions = nullptr;
  int64_t num_instructions = 0;
  int64_t num_gates = 0, num_inner = 0, num_kept = 0;

  Products products = {};               // forward; `input` is not changed
  const void* hidden_before = nullptr;  // (B, H)
  const void* inner_before = nullptr;   // (B, (S - 1) * H) acc
  void* hidden_after = nullptr;         // (B, H)
  void* inner_after = nullptr;          // (B, (S - 1) * H) acc
  void* kept = nullptr;                 // (B, K * H)

  HiddenGradient hidden_gradient = {};
  const void* inner_gradient = nullptr;  // (B, (S - 1) * H) acc, of the inner states as results, or null
  void* carry = nullptr;  // (B, S * H) acc: gradients of the states after the step before the call, without what goes
                          // through products; of the states before the step after it
  void* input_side = nullptr;   // (B, G * H)
  void* hidden_side = nullptr;  // (B, G * H); may be input_side if every gate is read as a sum
};

void run(const ProgramStep& work, Rows rows);

}  // namespace rnnlab::kernels
