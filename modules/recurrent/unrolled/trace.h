// What a forward pass keeps of one direction of one layer, and all that the backward pass needs.
#pragma once

#include "recurrent/kernels/persistent/persistent_layer.h"
#include "recurrent/layer_kind.h"
#include "recurrent/parameters.h"

namespace rnnlab {

// The ladder of Appleyard, Kocisky and Blunsom 2016 (arXiv 1604.01946) as switches: each rung does what the one before
// it does, and one thing more, but `hoisted`, which has nothing left to run on a second stream, `blocked`, its form for
// the CPU, and `persistent`, its form for Hopper GPUs. All take the gates' products as one (the first rung, `grouped`).

// How many steps share one product of the inputs.
enum class InputProducts { kOneStep, kGroupOfSteps, kAllSteps };

struct Rung {
  bool two_lanes = false;        // the inputs' products on a stream of their own
  bool fused_pointwise = false;  // one kernel for all of a step but its products
  bool pretransposed = false;    // transposed weights for the backward pass, made once a pass
  bool layers_side_by_side = false;
  bool shares_diagonals = false;    // one product and one kernel for all layers on a diagonal, where it can
  bool panel_products = false;      // on the CPU, by blocked/blocked_pass.h where it can
  bool one_kernel = false;          // many steps of a layer in one, by persistent/persistent_pass.h
  bool parts_side_by_side = false;  // of one_kernel: layers, a part of the steps each (layer_parts.h)
  kernels::PersistentKernels kernels = kernels::PersistentKernels::kAll;  // of one_kernel
  InputProducts input_products = InputProducts::kOneStep;
};

constexpr kernels::PersistentKernels persistent_kernels(LayerKind kind) {
  if (kind == LayerKind::kPersistentClusters) return kernels::PersistentKernels::kClusters;
  if (kind == LayerKind::kPersistentTeams) return kernels::PersistentKernels::kClustersAndTeams;
  return kernels::PersistentKernels::kAll;
}

constexpr Rung rung_of(LayerKind kind) {
  Rung rung;
  rung.two_lanes = kind == LayerKind::kStreamed || kind == LayerKind::kFusedPointwise ||
                   kind == LayerKind::kPretransposed || kind == LayerKind::kWavefront || kind == LayerKind::kDiagonal;
  rung.fused_pointwise = kind != LayerKind::kGrouped && kind != LayerKind::kStreamed;
  rung.pretransposed = rung.fused_pointwise && kind != LayerKind::kFusedPointwise;
  rung.layers_side_by_side = kind == LayerKind::kWavefront || kind == LayerKind::kDiagonal;
  rung.shares_diagonals = kind == LayerKind::kDiagonal;
  rung.panel_products = kind == LayerKind::kBlocked;
  rung.one_kernel = is_persistent(kind);
  rung.kernels = persistent_kernels(kind);
  rung.parts_side_by_side = kind == LayerKind::kPersistent;
  if (kind == LayerKind::kHoisted || kind == LayerKind::kBlocked || rung.one_kernel)
    rung.input_products = InputProducts::kAllSteps;
  if (rung.layers_side_by_side) rung.input_products = InputProducts::kGroupOfSteps;
  return rung;
}

// Of sums and cell states: float32 where the type has 16 bits.
inline at::ScalarType accumulation_type(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

// T steps, B sequences, I inputs, H hidden units, G gates (num_gates). "acc" marks the accumulation type.
struct LayerTrace {
  // In the type of the states; for one_kernel weight_hh may be float32, and before its forward pass all may have any.
  DirectionWeights weights;
  at::Tensor input;       // (T, B, I)
  at::Tensor gates;       // (T, B, G * H): the input's products first, the activated gates in their place then
  at::Tensor candidates;  // (T, B, H), GRU only: W_hn h + b_hn
  at::Tensor hidden;      // (T + 1, B, H): all hidden states, the initial one before the first step read
  at::Tensor cell;        // (T + 1, B, H) acc, LSTM only: all cell states, likewise

  // Of one_kernel, in the place of `input` where that is rows of a table: (V, I), and (T * B) int64.
  at::Tensor table, tokens;

  // Of one_kernel: weight_hh as its backward pass holds it, and the factors of 16 bits that large products read where
  // they gain by it (persistent/products.h); input_unscale: what input_factor is multiplied by to give the input, or
  // undefined.
  at::Tensor packed;
  at::Tensor weight_ih_factor, input_factor, half_hidden, input_unscale;

  int64_t num_steps() const { return gates.size(0); }
  int64_t batch_size() const { return gates.size(1); }
  int64_t hidden_size() const { return hidden.size(2); }
};

// Whether the gradients of the input's and the recurrent side differ: in a GRU the reset gate stands between them.
inline bool has_two_sides(Cell cell) {
  switch (library_cell(cell)) {
    case LibraryCell::kGru:
      return true;
    case LibraryCell::kLstm:
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return false;
  }
  return false;
}

enum class GradientUse { kNone, kPossible };

struct UnrolledSpec {
  Cell cell = Cell::kLstm;
  Activation activation = Activation::kTanh;
  Direction direction = Direction::kForward;
  Rung rung;
  at::ScalarType type = at::kFloat;                    // of the sequence and the hidden states
  at::ScalarType parameter_type = at::kFloat;          // of the parameters' gradients; products are in the sequence's
  double dropout = 0;                                  // of one_kernel, which draws its masks itself: between layers
  GradientUse gradients = GradientUse::kNone;          // whether a backward pass may follow
  kernels::Factors factors = kernels::Factors::kTf32;  // of one_kernel in float32, the same for both passes
};

// Rows of `hidden` and `cell`: before and after step t.
struct StateRows {
  int64_t before, after;
};
inline StateRows state_rows(Direction direction, int64_t t) {
  return direction == Direction::kForward ? StateRows{t, t + 1} : StateRows{t + 1, t};
}

// (T, B, H) of a tensor of T + 1 states: those after each step, those before each step; the rows of the initial one and
// of the one after the last step.
inline at::Tensor states_after(Direction direction, const at::Tensor& states) {
  return states.narrow(0, direction == Direction::kForward ? 1 : 0, states.size(0) - 1);
}
inline at::Tensor states_before(Direction direction, const at::Tensor& states) {
  return states.narrow(0, direction == Direction::kForward ? 0 : 1, states.size(0) - 1);
}
inline int64_t initial_row(Direction direction, int64_t num_steps) {
  return direction == Direction::kForward ? 0 : num_steps;
}
inline int64_t final_row(Direction direction, int64_t num_steps) {
  return direction == Direction::kForward ? num_steps : 0;
}

// Steps in the order in which they are read, `first` to `last` - 1.
struct Steps {
  int64_t first, last;
  int64_t size() const { return last - first; }
};

// The place in the sequence of the i-th step read, and the first place of a range of them.
inline int64_t place_of(Direction direction, int64_t i, int64_t num_steps) {
  return direction == Direction::kForward ? i : num_steps - 1 - i;
}
inline int64_t first_place_of(Direction direction, const Steps& steps, int64_t num_steps) {
  return direction == Direction::kForward ? steps.first : num_steps - steps.last;
}

// (n * B, columns) of a tensor (T, B, columns): the rows of a range of steps, as one matrix.
inline at::Tensor matrix_of(const at::Tensor& tensor, int64_t first_place, int64_t size) {
  return tensor.narrow(0, first_place, size).view({size * tensor.size(1), tensor.size(2)});
}
inline at::Tensor matrix_of(const at::Tensor& tensor) { return matrix_of(tensor, 0, tensor.size(0)); }

}  // namespace rnnlab
