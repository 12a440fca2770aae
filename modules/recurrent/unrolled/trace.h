// Defines the values that a forward pass stores for one direction of one layer, which are all that the backward pass
// needs.
#pragma once

#include "recurrent/kernels/persistent/persistent_layer.h"
#include "recurrent/layer_kind.h"
#include "recurrent/parameters.h"

namespace rnnlab {

// These switches describe the ladder of Appleyard, Kocisky and Blunsom 2016 (arXiv 1604.01946). Each rung adds one
// optimisation to the rung before, with three exceptions: `hoisted` has nothing left to run on a second stream,
// `blocked` is a form of `hoisted` for the CPU, and `persistent` is a form of `hoisted` for Hopper GPUs. All rungs
// compute the gates' products as one product (the first rung, `grouped`).

// States how many steps share one product of the inputs.
enum class InputProducts { kOneStep, kGroupOfSteps, kAllSteps };

struct Rung {
  bool two_lanes = false;        // the inputs' products run on a separate stream
  bool fused_pointwise = false;  // one kernel for all of a step except its products
  bool pretransposed = false;    // the backward pass uses transposed weights, which are made once a pass
  bool layers_side_by_side = false;
  bool shares_diagonals = false;    // one product and one kernel for all layers on a diagonal, if possible
  bool panel_products = false;      // on the CPU, by blocked/blocked_pass.h if possible
  bool one_kernel = false;          // one kernel for many steps of a layer, by persistent/persistent_pass.h
  bool parts_side_by_side = false;  // for one_kernel: layers work at the same time (layer_parts.h)
  kernels::PersistentKernels kernels = kernels::PersistentKernels::kAll;  // for one_kernel
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

// Returns the type of sums and cell states: float32 for types with 16 bits.
inline at::ScalarType accumulation_type(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

// T steps, B sequences, I inputs, H hidden units, G gates (num_gates). "acc" marks the accumulation type.
struct LayerTrace {
  // The weights have the type of the states. For one_kernel weight_hh may be float32, and before its forward pass all
  // weights may have any type.
  DirectionWeights weights;
  at::Tensor input;       // (T, B, I)
  at::Tensor gates;       // (T, B, G * H): first the input's products, then the activated gates in their place
  at::Tensor candidates;  // (T, B, H), GRU only: W_hn h + b_hn
  at::Tensor hidden;      // (T + 1, B, H): all hidden states; the initial one is before the first step that is read
  at::Tensor cell;        // (T + 1, B, H) acc, LSTM only: all cell states, in the same order

  // one_kernel reads these tensors instead of `input` if its rows are rows of a table: (V, I), and (T * B) int64.
  at::Tensor table, tokens;

  // `packed` is weight_hh in the layout of one_kernel's backward pass. The next three tensors are 16-bit factors of
  // large products, if these are faster with such factors (persistent/products.h). input_unscale is the factor that
  // converts input_factor to the input, or undefined.
  at::Tensor packed;
  at::Tensor weight_ih_factor, input_factor, half_hidden, input_unscale;

  int64_t num_steps() const { return gates.size(0); }
  int64_t batch_size() const { return gates.size(1); }
  int64_t hidden_size() const { return hidden.size(2); }
};

// Returns whether the gradients of the input's and the recurrent side differ: a GRU applies the reset gate between
// them.
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
  at::ScalarType type = at::kFloat;            // of the sequence and the hidden states
  at::ScalarType parameter_type = at::kFloat;  // of the parameters' gradients; products have the type of the sequence
  double dropout = 0;                          // for one_kernel, which draws its own masks: dropout between layers
  GradientUse gradients = GradientUse::kNone;  // states whether a backward pass may follow
  kernels::Factors factors = kernels::Factors::kTf32;  // for one_kernel in float32, equal for both passes
};

// Holds the rows of `hidden` and `cell` before and after step t.
struct StateRows {
  int64_t before, after;
};
inline StateRows state_rows(Direction direction, int64_t t) {
  return direction == Direction::kForward ? StateRows{t, t + 1} : StateRows{t + 1, t};
}

// Return parts of a tensor of T + 1 states: (T, B, H), the states after or before each step; and the row of the initial
// state, or of the state after the last step.
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

// The steps `first` to `last` - 1, in the order in which they are read.
struct Steps {
  int64_t first, last;
  int64_t size() const { return last - first; }
};

// Return the position in the sequence of the i-th step that is read, and the first position of a range of such steps.
inline int64_t place_of(Direction direction, int64_t i, int64_t num_steps) {
  return direction == Direction::kForward ? i : num_steps - 1 - i;
}
inline int64_t first_place_of(Direction direction, const Steps& steps, int64_t num_steps) {
  return direction == Direction::kForward ? steps.first : num_steps - steps.last;
}

// Returns the rows of a range of steps of a tensor (T, B, columns) as one matrix, (n * B, columns).
inline at::Tensor matrix_of(const at::Tensor& tensor, int64_t first_place, int64_t size) {
  return tensor.narrow(0, first_place, size).view({size * tensor.size(1), tensor.size(2)});
}
inline at::Tensor matrix_of(const at::Tensor& tensor) { return matrix_of(tensor, 0, tensor.size(0)); }

}  // namespace rnnlab
