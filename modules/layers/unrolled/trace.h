// SPDX-License-Identifier: Apache-2.0
// Defines the values that a forward pass stores for one direction of one layer, which are all that the backward pass
// needs, and the gradients of that pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "layers/layer_kind.h"
#include "layers/parameters.h"
#include "layers/program/step_code.h"

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
};

// Returns the type of sums and cell states: float32 for types with 16 bits.
inline at::ScalarType accumulation_type(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

// T steps, B sequences, I inputs, H hidden units, G gates. "acc" marks the accumulation type.
struct LayerTrace {
  DirectionWeights weights;  // in the type of the states
  at::Tensor input;          // (T, B, I)
  // (T, B, G * H): what the backward pass needs of the gates, such as their activated values; before it products of the
  // input, unless a kernel makes them. Steps beyond a sequence's length have gates too, which mean nothing.
  at::Tensor gates;
  at::Tensor more_kept;  // (T, B, (K - G) * H): if K > G values are kept, the others; of a GRU one, W_hn h + b_hn
  at::Tensor operands;  // (T, B, operands * H): what products read in place of the hidden state; undefined if none does
  at::Tensor hidden;    // (T + 1, B, H): all hidden states; the initial one is before the first step that is read
  at::Tensor cell;      // (T + 1, B, inner * H) acc: all inner states, such as an LSTM's cell state, in the same order
  // (T + 1, B, H): the hidden states as the products of the next step read them, zero where it starts; undefined if no
  // step starts.
  at::Tensor read_hidden;

  const at::Tensor& hidden_of_products() const { return read_hidden.defined() ? read_hidden : hidden; }

  // Returns all tensors, which autograd keeps for the backward pass.
  std::vector<at::Tensor*> tensors() {
    return {&weights.weight_ih,
            &weights.weight_hh,
            &weights.bias_ih,
            &weights.bias_hh,
            &weights.vectors,
            &input,
            &gates,
            &more_kept,
            &operands,
            &hidden,
            &cell,
            &read_hidden};
  }

  int64_t num_steps() const { return gates.size(0); }
  int64_t batch_size() const { return gates.size(1); }
  int64_t hidden_size() const { return hidden.size(2); }
};

// Holds the gradients of one layer in the backward pass.
struct LayerGradients {
  at::Tensor output;          // (T, B, H), or undefined: of the hidden states as results
  at::Tensor cell_output;     // (T, B, inner * H) acc, or undefined: of the inner states as results
  at::Tensor input_side;      // (T, B, G * H): of W_ih x + b_ih
  at::Tensor recurrent_side;  // (T, B, G * H): of W_hh h + b_hh; the same tensor if no gate has its sides apart
  at::Tensor from_next_step;  // (B, H): of the hidden state, through the recurrent product
  at::Tensor carry;           // (B, carried * H) acc: of an LSTM's cell state; of a GRU's hidden state without the
                              // product
  at::Tensor operands;        // (B, operands * H), or undefined: of what products read in place of the hidden state
  at::Tensor vectors;         // (T, B, V * H), or undefined: of the learned vectors, step by step
  at::Tensor input;           // (T, B, I), or undefined if it is not needed
};

enum class NextStep { kExists, kMissing };  // whether `from_next_step` counts

// What a pass over a stack of layers of one direction computes.
struct PassSpec {
  Cell cell = Cell::kLstm;
  Direction direction = Direction::kForward;
  at::ScalarType type = at::kFloat;            // of the sequence and the hidden states
  at::ScalarType parameter_type = at::kFloat;  // of the parameters' gradients; products have the type of the sequence
  const StepCode* code = nullptr;              // of the cell
  at::Tensor starts = {};                      // (T, B, 1) bool: before these steps the states are zero; or undefined

  // Returns whether there are marks of step t, which may lie outside the sequence; and the marks, (B, 1), or an
  // undefined tensor.
  bool has_starts_at(int64_t t) const { return starts.defined() && t >= 0 && t < starts.size(0); }
  at::Tensor starts_at(int64_t t) const { return has_starts_at(t) ? starts[t] : at::Tensor(); }

  // Returns the marks of the first step that is read.
  at::Tensor first_starts() const {
    if (!starts.defined()) return {};
    return starts[direction == Direction::kForward ? 0 : -1];
  }

  // Returns whether the gradients of the input's and the recurrent side differ: a GRU applies the reset gate between
  // them.
  bool has_two_sides() const { return code->has_sides_apart; }

  // Returns whether a step waits for a product: whether a gate reads the hidden state.
  bool has_recurrent_product() const { return code->columns.hidden > 0; }

  // Calls use(tensor) for each of a layer's weights, or of their gradients, that the cell has, in their order.
  template <class Weights, class Use>
  void each_weight(Weights& weights, const Use& use) const {
    use(weights.weight_ih);
    if (has_recurrent_product()) use(weights.weight_hh);
    use(weights.bias_ih);
    if (code->columns.has_hidden_bias) use(weights.bias_hh);
    if (code->columns.vectors > 0) use(weights.vectors);
  }

  // Returns how many tensors these are.
  size_t num_weights() const {
    DirectionWeights weights;
    size_t count = 0;
    each_weight(weights, [&](const at::Tensor&) { ++count; });
    return count;
  }
};

struct UnrolledSpec : PassSpec {
  UnrolledVariant variant = {LayerKind::kGrouped};
  int program = kernels::kInterpreted;  // the cell's, among the compiled ones
};

// Holds the rows of `hidden` and `cell` before and after step t.
struct StateRows {
  int64_t before, after;
};
inline StateRows state_rows(Direction direction, int64_t t) {
  return direction == Direction::kForward ? StateRows{t, t + 1} : StateRows{t + 1, t};
}

// Returns the step that is read after step t, which may be outside the sequence.
inline int64_t step_after(Direction direction, int64_t t) { return direction == Direction::kForward ? t + 1 : t - 1; }

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
