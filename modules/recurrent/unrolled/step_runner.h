// The point-wise part of one layer's steps, forward and backward: by one own kernel, or for LSTM by separate
// operations (separate_lstm.h), on the device of the tensors and on its current stream.
#pragma once

#include "recurrent/unrolled/trace.h"

namespace rnnlab {

// What the backward pass works on for one layer.
struct LayerGradients {
  at::Tensor output;          // (T, B, H), or undefined: of the hidden states as results
  at::Tensor cell_output;     // (T, B, H) acc, or undefined: of the cell states as results
  at::Tensor input_side;      // (T, B, G * H): of W_ih x + b_ih
  at::Tensor recurrent_side;  // (T, B, G * H): of W_hh h + b_hh; but for GRU the same tensor
  at::Tensor from_next_step;  // (B, H): of the hidden state, through the recurrent product
  at::Tensor carry;           // (B, H) acc: of the LSTM's cell state; of the GRU's hidden state past the product
  at::Tensor input;           // (T, B, I), or undefined if nobody needs it

  // Of a pass by one kernel (kernels/persistent/persistent_layer.h): what both sides are columns of, (T, B, columns *
  // H), those of a GRU's recurrent side with the candidate first; where needed the sums for the biases' gradients,
  // (parts, rows, sides, G * H) float32, and the bits of the largest magnitude on both sides, (1) int32.
  at::Tensor sides, bias_sums, largest;

  bool has_two_sides() const { return !recurrent_side.is_same(input_side); }
};

enum class NextStep { kThere, kNone };  // whether `from_next_step` counts

// Step t, its place in the sequence. Of the trace, the inputs' products and the state before the step must be there:
// the activated gates take the place of the products, and the state after the step is written. `recurrent`: (B, G * H),
// W_hh h of step t.
void run_forward_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t);

// The same backwards, after the step that was read next. Writes step t of `input_side` and `recurrent_side`, and turns
// `carry` from the gradient after the step into the one before it; the caller computes `from_next_step` for each step.
void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t);

// The point-wise part of an LSTM step by LibTorch's own operations, one for every line of the formulas: what the first
// two rungs of the ladder run, and what one kernel saves.

void run_separate_lstm_forward(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t);
void run_separate_lstm_backward(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients,
                                NextStep next, int64_t t);

}  // namespace rnnlab
