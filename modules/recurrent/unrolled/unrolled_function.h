// Runs a stack of layers of one direction as one autograd function: forward, the loop over steps; backward,
// back-propagation through time. Autograd does not see the steps or their intermediate results, and cannot
// differentiate twice.
#pragma once

#include <vector>

#include "recurrent/unrolled/trace.h"

namespace rnnlab {

struct UnrolledInput {
  at::Tensor sequence;  // (T, B, I); with tokens a table, (V, I) float32
  at::Tensor tokens;  // (T, B) int64, for persistent layers: the inputs are the tokens' rows of the table; or undefined
  at::Tensor hidden;  // (L, B, H), or, for persistent layers, undefined: zeros
  at::Tensor cell;    // (L, B, H) acc, LSTM only; may be undefined in the same way
  std::vector<DirectionWeights> layers;  // L, in the type of the sequence; for persistent layers in any type
  std::vector<at::Tensor> masks;         // (T, B, H) each, L - 1 masks or none: factors of the next layer's input
};

// Contains all states of each layer, (T, B, H) each: the states after each step, at the step's position in the
// sequence. Persistent layers also return the states after the last step, of all layers: if only these are used,
// gradients for all steps need not be allocated.
struct UnrolledResult {
  std::vector<at::Tensor> hidden;
  std::vector<at::Tensor> cell;         // acc, LSTM only
  at::Tensor final_hidden, final_cell;  // (L, B, H), only for persistent layers
};

// The result is differentiable with respect to the sequence, the initial states and the weights, but not the masks.
// Autocast is off inside: all tensors must have the type of the sequence, or the accumulation type if marked with acc.
UnrolledResult run_unrolled(const UnrolledSpec& spec, const UnrolledInput& input);

// These functions make the traces of a pass from its operands, the list of tensors that autograd sees.

// Returns the position of the first parameter among the operands. The operands are, in this order: sequence, initial
// hidden states, initial cell states (if the cell has them), then the parameters layer by layer.
inline size_t first_parameter(Cell cell) { return has_cell_state(cell) ? 3 : 2; }
std::vector<at::Tensor> operands_of(Cell cell, const UnrolledInput& input);

// Returns the operands with a table of tokens converted to the type of the states.
std::vector<at::Tensor> in_one_type(const UnrolledSpec& spec, std::vector<at::Tensor> operands);

// Holds all states, (L, T + 1, B, H) each. Traces have slices of these tensors; the initial row is filled.
struct States {
  at::Tensor hidden, cell;
};
States make_states(const UnrolledSpec& spec, const std::vector<at::Tensor>& operands, const at::Tensor& tokens);

// Returns one trace for each layer, with memory for the results of a forward pass and, if there are masks, for the
// inputs of upper layers.
std::vector<LayerTrace> make_traces(const UnrolledSpec& spec, const std::vector<at::Tensor>& operands,
                                    const States& states, const at::Tensor& tokens,
                                    const std::vector<at::Tensor>& masks);

}  // namespace rnnlab
