// Runs the point-wise part of one layer's steps, forward and backward: by one own kernel, or for LSTM by separate
// operations, on the device of the tensors and on its current stream.
#pragma once

#include "recurrent/unrolled/trace.h"

namespace rnnlab {

// Holds the gradients of one layer in the backward pass.
struct LayerGradients {
  at::Tensor output;          // (T, B, H), or undefined: of the hidden states as results
  at::Tensor cell_output;     // (T, B, H) acc, or undefined: of the cell states as results
  at::Tensor input_side;      // (T, B, G * H): of W_ih x + b_ih
  at::Tensor recurrent_side;  // (T, B, G * H): of W_hh h + b_hh; except for GRU the same tensor
  at::Tensor from_next_step;  // (B, H): of the hidden state, through the recurrent product
  at::Tensor carry;           // (B, H) acc: of the LSTM's cell state; of the GRU's hidden state without the product
  at::Tensor input;           // (T, B, I), or undefined if it is not needed

  // These tensors belong to a pass by one kernel (kernels/persistent/persistent_layer.h). `sides` is (T, B, columns *
  // H); its columns contain both sides, with a GRU's recurrent side first and its candidate before the other gates.
  // `bias_sums` are the sums for the biases' gradients if they are needed, (parts, rows, sides, G * H) float32.
  // `largest` contains the bits of the largest magnitude on both sides, (1) int32.
  at::Tensor sides, bias_sums, largest;

  bool has_two_sides() const { return !recurrent_side.is_same(input_side); }
};

enum class NextStep { kThere, kNone };  // whether `from_next_step` counts

// Computes step t, a position in the sequence. The trace must have the products of the inputs and the state before the
// step. The activated gates replace the products, and the state after the step is written. `recurrent`: (B, G * H),
// W_hh h of step t.
void run_forward_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t);

// Computes the gradients of step t, after the step that was read next. Writes step t of `input_side` and
// `recurrent_side`, and changes `carry` from the gradient after the step to the gradient before it. The caller computes
// `from_next_step` for each step.
void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t);

// These functions compute the point-wise part of an LSTM step by LibTorch's own operations, one for every line of the
// formulas. `grouped` and `streamed` use them; all later variants use one kernel instead.

void run_separate_lstm_forward(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t);
void run_separate_lstm_backward(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients,
                                NextStep next, int64_t t);

}  // namespace rnnlab
