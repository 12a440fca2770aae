// SPDX-License-Identifier: Apache-2.0
// Declares the passes of one direction of an sLSTM layer (cells/slstm.cpp) on a GPU by one kernel each, in which a
// block computes one head of a group of sequences (kernels/persistent/block/). They include the products for the
// gradient of the recurrent weights, but not the products of the inputs.
//
// The kernels want the units of a head side by side. So all rows of gates are ordered by head, then by gate: (heads, 4,
// D), in contrast to the layer's parameters, whose rows are (4, heads, D).
#pragma once

#include <ATen/core/Tensor.h>

#include "layers/execution_path.h"
#include "layers/parameters.h"

namespace rnnlab {

// T steps, B sequences, D units of a head, H units of all heads.
struct SlstmTrace {
  Direction direction = Direction::kForward;
  int64_t num_heads = 1;
  at::Tensor weight_hh = {};  // (heads, 4 * D, D)
  at::Tensor gates = {};      // (T, B, 4 * H): W x + b; the forward pass overwrites it by the activated gates i f z o
  at::Tensor slopes = {};     // (T, B, H): the derivative of log sigmoid of the forget gate
  at::Tensor hidden = {};     // (T + 1, B, H), in the order of states_after (unrolled/trace.h)
  at::Tensor states = {};     // (3, T + 1, B, H) float32, likewise: cell, normalizer, stabilizer
};

// Returns what a forward pass runs.
ExecutionPath slstm_path(const SlstmTrace& trace);

// Fills in slopes, hidden and states, which it allocates, and overwrites the gates. initial_hidden: (B, H) in the type
// of the gates; initial_states: (3, B, H) float32. The head size needs kernels, and the GPU is checked
// (persistent_pass.h).
void run_slstm_forward(SlstmTrace& trace, const at::Tensor& initial_hidden, const at::Tensor& initial_states);

// Gradients of the tensors of the same name, and of the initial states.
struct SlstmGradients {
  at::Tensor gates = {}, weight_hh = {}, initial_hidden = {}, initial_states = {};
};

// output: (T, B, H), the gradient of the hidden states after each step. final_states: (3, B, H) float32, of the states
// after the last step. Either may be undefined.
SlstmGradients run_slstm_backward(const SlstmTrace& trace, const at::Tensor& output, const at::Tensor& final_states);

}  // namespace rnnlab
