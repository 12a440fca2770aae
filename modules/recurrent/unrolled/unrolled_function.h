// A stack of layers of one direction as one autograd function: the loop over steps forward, back-propagation through
// time backward. Autograd sees neither the steps nor their intermediate results; it cannot differentiate twice.
#pragma once

#include <vector>

#include "recurrent/unrolled/trace.h"

namespace rnnlab {

struct UnrolledInput {
  at::Tensor sequence;                   // (T, B, I); with tokens a table, (V, I) float32
  at::Tensor tokens;                     // (T, B) int64, for one_kernel: whose rows are the inputs; or undefined
  at::Tensor hidden;                     // (L, B, H), or for one_kernel undefined: zeros
  at::Tensor cell;                       // (L, B, H) acc, LSTM only; likewise
  std::vector<DirectionWeights> layers;  // L, in the type of the sequence; for one_kernel in any
  std::vector<at::Tensor> masks;         // (T, B, H) each, L - 1 of them or none: factors of what the next layer reads
};

// All states of each layer, (T, B, H) each: those after each step, at the step's place in the sequence. For one_kernel
// those after the last step read besides, of all layers: where nothing else is used, what comes back for all steps need
// not be made.
struct UnrolledResult {
  std::vector<at::Tensor> hidden;
  std::vector<at::Tensor> cell;         // acc, LSTM only
  at::Tensor final_hidden, final_cell;  // (L, B, H), for one_kernel; likewise
};

// Differentiable with respect to the sequence, the initial states and the weights, not the masks. Autocast does
// not reach in: everything must have the type of the sequence, or acc where that is said.
UnrolledResult run_unrolled(const UnrolledSpec& spec, const UnrolledInput& input);

// The traces of a pass from its operands, the list of tensors that autograd sees.

// The place of the first parameter among the operands, which are, in this order: sequence, initial hidden states,
// initial cell states (if the cell has them), then the parameters layer by layer.
inline size_t first_parameter(Cell cell) { return has_cell_state(cell) ? 3 : 2; }
std::vector<at::Tensor> operands_of(Cell cell, const UnrolledInput& input);

// The same, with a table of tokens in the type of the states.
std::vector<at::Tensor> in_one_type(const UnrolledSpec& spec, std::vector<at::Tensor> operands);

// (L, T + 1, B, H) each, of which traces have slices; the initial row is filled.
struct States {
  at::Tensor hidden, cell;
};
States make_states(const UnrolledSpec& spec, const std::vector<at::Tensor>& operands, const at::Tensor& tokens);

// One a layer, with room for what a forward pass fills; where there are masks, for what upper layers read, too.
std::vector<LayerTrace> make_traces(const UnrolledSpec& spec, const std::vector<at::Tensor>& operands,
                                    const States& states, const at::Tensor& tokens,
                                    const std::vector<at::Tensor>& masks);

}  // namespace rnnlab
