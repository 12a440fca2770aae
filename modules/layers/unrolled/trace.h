// SPDX-License-Identifier: Apache-2.0
// Defines the values that a forward pass stores for one direction of one layer, which are all that the backward pass
// needs.
#pragma once

#include "layers/layer_kind.h"
#include "layers/parameters.h"
#include "layers/persistent/persistent_layer.h"

namespace rnnlab {

// States how many steps share one product of the inputs.
enum class InputProducts { kOneStep, kGroupOfSteps, kAllSteps };

// States the optimisations of one unrolled layer (unrolled_layer.h). All variants compute the gates' products as one
// product.
struct UnrolledVariant {
  LayerKind kind;
  bool uses_two_streams = false;  // the inputs' products run on a separate stream
  bool fuses_pointwise = false;   // one kernel for all of a step except its products
  bool pretransposes = false;     // the backward pass uses transposed weights, which are made once a pass
  InputProducts input_products = InputProducts::kOneStep;
  bool pipelines_layers = false;  // layers work at the same time, each on different steps
  bool shares_diagonals = false;  // one product and one kernel for all layers on a diagonal, if possible
  bool is_blocked = false;        // on the CPU, by blocked/blocked_pass.h if possible
  bool is_persistent = false;     // one kernel for many steps of a layer, by persistent/persistent_pass.h
  bool shares_gpu = false;        // for is_persistent: layers work at the same time (layer_parts.h)
  kernels::PersistentKernels kernels = kernels::PersistentKernels::kAll;  // for is_persistent
};

// Returns the type of sums and cell states: float32 for types with 16 bits.
inline at::ScalarType accumulation_type(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

// T steps, B sequences, I inputs, H hidden units, G gates (num_gates). "acc" marks the accumulation type.
struct LayerTrace {
  // The weights have the type of the states. For persistent layers, weight_hh may be float32, and weight_ih too of the
  // upper layer of a pair; and before the forward pass all weights may have any type.
  DirectionWeights weights;
  at::Tensor input;  // (T, B, I)
  at::Tensor gates;  // (T, B, G * H): activated gates; before them products of the input, unless a kernel makes them
  at::Tensor candidates;  // (T, B, H), GRU only: W_hn h + b_hn
  at::Tensor hidden;      // (T + 1, B, H): all hidden states; the initial one is before the first step that is read
  at::Tensor cell;        // (T + 1, B, H) acc, LSTM only: all cell states, in the same order

  // Persistent layers read these tensors instead of `input` if its rows are rows of a table: (V, I), and (T * B) int64.
  at::Tensor table, tokens;

  // `packed` is weight_hh in the layout of the backward pass of persistent layers. The next three tensors are 16-bit
  // operands of large products, if these are faster with such operands (persistent/products.h). input_unscale is the
  // factor that converts input_operand to the input, or undefined.
  at::Tensor packed;
  at::Tensor weight_ih_operand, input_operand, half_hidden, input_unscale;
  // Only of the upper layer of a pair, which one kernel computes together with the layer below: weight_ih in the layout
  // of the backward pass.
  at::Tensor packed_input;

  // Whether the forward pass must still set the initial states to 0. Persistent layers do so on a side stream or in the
  // kernel.
  bool lacks_hidden = false, lacks_cell = false;
  bool is_in_pair = false;  // only during the forward pass: whether the layer is one of a pair

  // Only during the forward pass of persistent layers: (V, G * H), W x of the table's rows; and weight_ih, float32 or
  // of the type of the states, if the layer's kernel multiplies the input.
  at::Tensor table_products = {}, weight_ih_of_kernel = {};

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
  UnrolledVariant variant = {LayerKind::kGrouped};
  at::ScalarType type = at::kFloat;            // of the sequence and the hidden states
  at::ScalarType parameter_type = at::kFloat;  // of the parameters' gradients; products have the type of the sequence
  int64_t num_layers = 1;                      // of the pass
  double dropout = 0;  // for persistent layers, which draw their own masks: dropout between layers
  GradientUse gradients = GradientUse::kNone;             // states whether a backward pass may follow
  kernels::Operands operands = kernels::Operands::kTf32;  // for persistent layers in float32, equal for both passes
  // For persistent layers: who receives the gradients of these parameters, one item for each layer; null: nobody.
  GradientSink* gradient_sink = nullptr;
  std::vector<DirectionWeights> parameters = {};
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
inline int64_t position_of(Direction direction, int64_t i, int64_t num_steps) {
  return direction == Direction::kForward ? i : num_steps - 1 - i;
}
inline int64_t first_position_of(Direction direction, const Steps& steps, int64_t num_steps) {
  return direction == Direction::kForward ? steps.first : num_steps - steps.last;
}

// Returns the rows of a range of steps of a tensor (T, B, columns) as one matrix, (n * B, columns).
inline at::Tensor matrix_of(const at::Tensor& tensor, int64_t first_place, int64_t size) {
  return tensor.narrow(0, first_place, size).view({size * tensor.size(1), tensor.size(2)});
}
inline at::Tensor matrix_of(const at::Tensor& tensor) { return matrix_of(tensor, 0, tensor.size(0)); }

}  // namespace rnnlab
