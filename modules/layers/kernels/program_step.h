// SPDX-License-Identifier: Apache-2.0
// Runs the point-wise part of one step of any cell, forward or backward: what is not a product with weights. The cell
// is a program (layers/program) whose instructions work on tiles of kTileWidth neighbouring units of one sequence. The
// programs of the cells of the list are also compiled, as C++ that print_step.h writes from the same instructions;
// others are interpreted on the CPU, and compiled on a GPU when they are first run. The kernels take plain pointers and
// do not use LibTorch; matrices are row-major and dense unless a stride says otherwise.
//
// "acc" marks the accumulation type (element_type.h); everything else is in `type`. A null pointer that is marked "or
// null" counts as zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#ifndef __CUDACC_RTC__  // NVRTC has no such headers, and compiles no function of these
#include <span>
#include <string_view>
#endif

#include "layers/kernels/element_type.h"
#include "layers/program/operation.h"

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

inline constexpr int64_t kTileWidth = 64;
inline constexpr int kMostTiles = 64;  // that are alive at the same time
inline constexpr uint8_t kNoColumn = 255;

enum class TileAction : uint8_t {
  // The operation on tiles a, b and c. Of a leaf: loads it, and the members mean
  //   kGate        index: column of the input's products, a: of the hidden state's, b: place among Sums
  //   kInputSide   index: column, b: place among Sums
  //   kHiddenSide  a: column, b: place among Sums
  //   kState, kVector  index: the state, or the row of the vectors
  //   kStateGradient  index: the state, a: column of the carry, or kNoColumn
  //   kProductGradient  index: the operand
  kCompute,
  // Loads; `index` is the state or the kept value.
  kLoadStateAfter,
  kLoadKept,
  // Stores of tile `a`; `index` is the state, the kept value, or the column.
  kStoreState,
  kStoreKept,
  kStoreInputSide,
  kStoreHiddenSide,
  kStoreCarry,
  kStoreVectorGradient,
  kStoreOperand,
};

struct TileInstruction {
  TileAction action = TileAction::kCompute;
  Operation operation = Operation::kNumber;  // of kCompute; not kHiddenProduct
  uint8_t target = 0, a = 0, b = 0, c = 0;
  uint8_t index = 0;
  double number = 0;
};

struct Step {
  ElementType type = ElementType::kFloat32;
  int64_t batch_size = 0;
  int64_t hidden_size = 0;
};

// The numbers of columns of a program, in units of H.
struct StepColumns {
  int64_t input = 0, hidden = 0;  // gates that have a product of the input, and of the hidden state
  int64_t inner = 0;              // states besides the hidden state
  int64_t kept = 0;               // values that the forward pass keeps for the backward pass
  int64_t carried = 0;            // states whose gradient before a step is not only that of products
  int64_t vectors = 0;            // learned numbers of a unit
  int64_t operands = 0;           // expressions that products read in place of the hidden state
  bool has_hidden_bias = true;    // whether the hidden state's products have biases

  bool operator==(const StepColumns&) const = default;
};

// The products of a step and their biases. `below` requires a stride.
struct Products {
  const void* input = nullptr;      // (B, input * H) W_ih x
  const void* recurrent = nullptr;  // (B, hidden * H) W_hh h
  const void* bias_ih = nullptr;    // (input * H)
  const void* bias_hh = nullptr;    // (hidden * H), not read without has_hidden_bias
  const void* below = nullptr;      // W_ih x if it is not in `input`, or null
  int64_t row_stride = 0;           // elements between the rows of `recurrent` and `below`; 0 if the rows are dense
};

// The gradient with respect to a step's hidden state is the sum of all three. `from_above` requires a stride.
struct HiddenGradient {
  const void* from_output = nullptr;     // (B, H), or null
  const void* from_next_step = nullptr;  // (B, H) through the recurrent product, or null
  const void* from_above = nullptr;      // (B, H) from the layer that reads the hidden state, or null
  int64_t row_stride = 0;                // elements between the rows of the last two; 0 if the rows are dense
};

// A step whose products read operands has two more passes: the operands are computed before their products, which the
// forward pass reads; and the gradients of these products before those of the operands, which the backward pass reads.
enum class StepPass : uint8_t { kForward, kBackward, kOperands, kProductSides };

inline constexpr int kInterpreted = -1;

// A pass leaves out the members of the other pass.
struct ProgramStep {
  Step step;
  StepPass pass = StepPass::kForward;
  int program = kInterpreted;  // among the compiled programs
  StepColumns columns = {};
  const TileInstruction* instructions = nullptr;  // of this pass, if the program is interpreted
  int64_t num_instructions = 0;
  const char* text = nullptr;  // the program as C++ for GPUs (print_step.h), which lives forever

  const void* hidden_before = nullptr;  // (B, H)
  const void* inner_before = nullptr;   // (B, inner * H) acc
  void* hidden_after = nullptr;         // (B, H)
  void* inner_after = nullptr;          // (B, inner * H) acc
  // The kept values: as many as fit in (B, input * H), where they replace the input's products; then the others.
  void* kept = nullptr;
  void* more_kept = nullptr;  // (B, (kept - input) * H)

  Products products = {};
  const void* vectors = nullptr;  // (vectors * H)

  // (B), or null for none. The sequences of `starts` begin with this step: it reads zeros in place of `hidden_before`
  // and `inner_before`, and the backward pass leaves zeros in `carry`. Those of `next_starts` begin with the step that
  // is read next: the backward pass reads zeros in place of `hidden_gradient.from_next_step` and of Sums.
  const bool* starts = nullptr;
  const bool* next_starts = nullptr;
  void* hidden_of_products = nullptr;  // (B, H), or null: `hidden_after` as the next step's products read it

  HiddenGradient hidden_gradient = {};
  const void* inner_gradient = nullptr;  // (B, inner * H) acc, of the inner states as results, or null
  void* carry = nullptr;  // (B, carried * H) acc: gradients of the states after the step before the call, without what
                          // goes through products; of the states before the step after it
  void* input_side = nullptr;        // (B, input * H): gradients of W_ih x + b_ih
  void* hidden_side = nullptr;       // (B, hidden * H): of W_hh h + b_hh; not written if it equals input_side
  void* vector_gradients = nullptr;  // (B, vectors * H)

  void* operands = nullptr;                 // (B, operands * H)
  const void* operand_gradients = nullptr;  // (B, operands * H)
};

inline constexpr size_t kLayersAtOnce = 8;

#ifndef __CUDACC_RTC__
// Returns the place of the program with this hash (CellProgram::hash) among the compiled programs, or kInterpreted:
// also if the compiled program has other columns, as an equal program may have that is written otherwise.
int compiled_program(std::string_view hash, const StepColumns& columns);

// Run the rows `first` to `last` - 1 of the batch on the CPU; callers divide rows among threads.
struct Rows {
  int64_t first = 0;
  int64_t last = 0;
};
void run(const ProgramStep& work, Rows rows);

// Queue the work on `stream` of a GPU. A program that the build has not compiled is compiled from its text at its first
// step (jit_step.h). Throw std::runtime_error with CUDA's message and a next step if the launch fails.
void run(const ProgramStep& work, CUstream_st* stream);

// Run the same step of several layers on a diagonal by one kernel: at most kLayersAtOnce layers with equal step, pass
// and program, of a program whose gates have equal gradients on both sides.
void run(std::span<const ProgramStep> layers, CUstream_st* stream);
#endif

}  // namespace rnnlab::kernels
