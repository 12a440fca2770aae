// SPDX-License-Identifier: Apache-2.0
// The arguments of a pass of a persistent layer (persistent_layer.h). The host fills them in, and kernels get them as
// they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/kernels/element_type.h"

namespace rnnlab::kernels {

enum class ReadingOrder { kForward, kReverse };

// The hidden states, before and after a step, that the backward pass of a program without inner states reads.
enum class HiddenStatesRead { kBefore, kAfter, kBoth };

// What the host knows of a cell whose kernels are compiled from its program (program_cell.h).
struct PersistentProgram {
  const char* text = nullptr;  // a struct JitProgram (program/print_step.h), which lives forever
  int num_gates = 0;
  bool has_two_sides = false;  // whether the last gate's two sides are apart, as those of a GRU's candidate
  HiddenStatesRead reads = HiddenStatesRead::kBefore;
  bool may_spoil_others = false;  // ProgramCell::kMaySpoilOthers
  bool has_heads = false;         // of kSlstmProgram alone
  bool has_starts = false;        // whether the kernels read PersistentForward::starts
};

// sLSTM (cells/slstm.cpp), whose kernels are written for it (slstm.h) instead of compiled from a text.
inline constexpr PersistentProgram kSlstmProgram = {.num_gates = 4, .has_heads = true};

// States to what the recurrent products of a float32 layer round their numbers: one float16, which has TF32's mantissa,
// or the sum of two, which has float32's mantissa except for two bits.
enum class Operands { kTf32, kFloat32 };

// The kernels that a pass may take: groups of one block; clusters whose blocks have one team of warps; also clusters of
// smaller blocks, and of blocks of two teams; all of these, pairs of layers, and blocks over the whole GPU.
enum class PersistentKernels : uint8_t { kBlocks, kClusters, kClustersAndTeams, kAll };

// What a forward pass adds to R h in a step: a row of W x of all inputs; or, if the inputs are rows of a table by
// token, the token's row of W x of the table; or W x, which the kernel computes from few inputs. Not read in a backward
// pass.
enum class StepInputs : uint8_t { kProducts, kRowsOfTable, kNarrow };

inline constexpr int kMostNarrowInputs = 32;

// Gradients in float16 have an exponent for so many sequences and units (PersistentBackward::exponents).
inline constexpr int kSequencesOfExponent = 8;
inline constexpr int kUnitsOfExponent = 8;
inline constexpr int kExponentBias = 256;

// The smallest hidden size that clusters have kernels for, and the largest hidden sizes of blocks, of pairs of layers,
// of clusters, and of grids by wgmma and by mma.sync.
inline constexpr int kSmallestOfClusters = 64;
inline constexpr int kLargestOfBlocks = 128;
inline constexpr int kLargestOfPairs = 128;
inline constexpr int kLargestOfClusters = 1024;
inline constexpr int kLargestOfGrids = 1536;
inline constexpr int kLargestOfGridsByMma = 1024;

// T steps, B sequences, H units, G gates, S cell states: 3 of sLSTM, which are cell, normalizer and stabilizer, 1 of
// other cells that have any. type: of all tensors that are not float* below. Only sLSTM has heads; H is then the
// number of units of all heads, and rows of gates and of their gradients are (heads, G, H / heads). It has no biases,
// and runs by kBlocks.
struct PersistentSequence {
  int64_t num_steps = 0;
  int64_t batch_size = 0;
  int64_t hidden_size = 0;  // of a head: H / num_heads
  int64_t num_heads = 1;
  ElementType type = ElementType::kFloat32;
  ReadingOrder order = ReadingOrder::kForward;
  const PersistentProgram* program = nullptr;  // of the cell; it lives forever, and kernels do not read it
  Operands operands = Operands::kTf32;         // kFloat32 only
  PersistentKernels kernels = PersistentKernels::kAll;
  StepInputs inputs = StepInputs::kProducts;  // kProducts of sLSTM
  bool is_alone = false;                      // the pass has no other layer, which could run beside this one
  int num_layers = 1;                         // of the kernel: 2 for a pair of layers
  bool writes_half = false;                   // of a backward pass: PersistentBackward::exponents
};

// Describes the inputs of a pass whose kernel multiplies them.
struct NarrowPass {
  const void* inputs = nullptr;    // (T, B, I)
  int size = 0;                    // I
  bool has_whole_vectors = false;  // whether four of a row of inputs, and of weights, may be read at once
  ElementType type_of_weights = ElementType::kFloat32;  // or the sequence's type
  const void* weights = nullptr;                        // (G * H, I)
};

// Hidden and cell states have T + 1 rows, as in unrolled/trace.h: the initial row is before the row of the first step
// that is read.
struct PersistentForward {
  PersistentSequence sequence;
  const void* weights = nullptr;  // from pack_forward_weights
  const void* bias_ih = nullptr;  // (G * H), or null of sLSTM
  const void* bias_hh = nullptr;  // (G * H), or null of sLSTM and of cells with one bias
  const void* vectors = nullptr;  // (V * H): learned numbers of each unit, or null of a cell without them
  void* gates = nullptr;          // (T, B, G * H): products of kProducts in; the first G kept values out
  // (T, B, H) out: the kept value for which `gates` has no room, such as R h + b of a GRU's candidate; null if it has
  // room for all.
  void* candidates = nullptr;
  void* hidden = nullptr;       // (T + 1, B, H): the initial row in, or out if the pass begins_with_zeros; others out
  void* half_hidden = nullptr;  // (T + 1, B, H) float16, or null: a copy of all rows but the initial; kTf32 only
  float* cell = nullptr;        // (S, T + 1, B, H), of cells that have S: as `hidden`
  void* exchange = nullptr;     // forward_exchange_bytes
  int* timed_out = nullptr;     // memory that host and device see: set to 1 if a block timed out
  // kRowsOfTable only.
  const void* table = nullptr;      // (V, G * H): products of the rows of a table
  int64_t num_rows = 0;             // V
  const int64_t* tokens = nullptr;  // (T, B), each less than V
  NarrowPass narrow = {};           // kNarrow only
  // States whether the pass writes initial states of 0, and reads none. Only kernels of kNarrow, and the upper layer of
  // a pair, read it.
  bool begins_with_zeros = false;
  // (T, B), of programs that have starts: whether the states before a step are zero, whatever the states after the step
  // before it are. A pair of layers has none.
  const bool* starts = nullptr;
  // (T + 1, B, H) out, of programs that have starts: what products read of the hidden states, which is 0 before a step
  // that starts. Either is null, or both; half_read_hidden is float16, and kTf32 only.
  void* read_hidden = nullptr;
  void* half_read_hidden = nullptr;
};

// gate_gradients: W x + b and R h + b of a gate have the same gradient, except of the last gate of a cell that
// has_two_sides, such as a GRU's candidate. A row then has (G + 1) * H columns: the last gate of R h + b, the other
// gates, the last gate of W x + b. The first G are the gates of R h + b, and the last G those of W x + b. For other
// cells a row has G * H columns.
//
// The sum over the rows of `bias_sums` is the gradient of the biases, and then of the vectors. A cell that
// has_two_sides has two sides of G * H, b_ih and b_hh; other cells have one, which is the gradient of either. `largest`
// becomes the bits of the largest magnitude on both sides, in the classes of float32.
struct PersistentBackward {
  PersistentSequence sequence;
  const void* weights = nullptr;          // from pack_backward_weights
  const void* vectors = nullptr;          // as forward
  const void* gates = nullptr;            // (T, B, G * H): the first G kept values
  const void* candidates = nullptr;       // (T, B, H): the kept value after these, or null
  const void* hidden = nullptr;           // (T + 1, B, H); not read for cells with cell states
  const float* cell = nullptr;            // (S, T + 1, B, H), of cells that have S, as below
  const void* output_gradient = nullptr;  // (T, B, H), or null
  const float* cell_gradient = nullptr;   // (T, B, H): of the cell states as results, or null; not of sLSTM
  // (B, H), or null: gradients of the last states in addition to `output_gradient`, as results or from steps that are
  // read later.
  const void* later_hidden = nullptr;
  const float* later_cell = nullptr;  // (S, B, H)
  void* gate_gradients = nullptr;     // (T, B, columns * H) out: of the gates before activation
  void* initial_hidden = nullptr;     // (B, H) out: the gradient of the initial hidden state
  float* initial_cell = nullptr;      // (S, B, H) out
  float* bias_sums = nullptr;         // (bias_sum_rows, (sides * G + V) * H) out, or null; null with heads
  int32_t* largest = nullptr;         // 0 in, or null
  // If the sequence's writes_half is set, in the TF32 class, `gate_gradients` are float16, and a gradient is the
  // float16 times two to the power of its exponent (shared/half_gradients.h).
  int8_t* exponents = nullptr;              // (T, B / kSequencesOfExponent, H / kUnitsOfExponent), rounded up
  int32_t* largest_exponent = nullptr;      // 0 in; out: the largest exponent plus kExponentBias, or 0 if all are 0
  const int32_t* later_exponent = nullptr;  // the same of the steps that are read later, or null
  void* exchange = nullptr;                 // backward_exchange_bytes
  int* timed_out = nullptr;
  const bool* starts = nullptr;  // as forward
};

// The dropout between two layers.
struct DropoutPass {
  const bool* kept = nullptr;  // (T, B, H), or null: no dropout
  float scale = 1.0f;          // of the states that are kept
};

// Describe the passes of a pair of layers of the same size: the inputs of the upper layer are the hidden states of the
// lower layer, after dropout if there is any. The sequences have num_layers 2 and differ only in `inputs`. The upper
// layer's gates are only written, and `output_gradient` of the lower layer does not have what comes from the upper
// layer.
struct PersistentPairForward {
  PersistentForward lower, upper;
  const void* input_weights = nullptr;  // of the upper layer, from pack_forward_weights
  DropoutPass dropout = {};
  void* dropped = nullptr;  // (T, B, H) out, or null without dropout: the inputs of the upper layer
};
struct PersistentPairBackward {
  PersistentBackward lower, upper;
  const void* input_weights = nullptr;  // of the upper layer, from pack_backward_weights
  DropoutPass dropout = {};
};

// Recurrent weights (G * H, H), or (heads, G * H / heads, H / heads), in float32 or the sequence's type.
struct RecurrentWeights {
  const void* values = nullptr;
  ElementType type = ElementType::kFloat32;
};

}  // namespace rnnlab::kernels
