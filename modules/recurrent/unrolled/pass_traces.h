// The traces of a pass from its operands, the list of tensors that autograd sees.
#pragma once

#include <vector>

#include "recurrent/unrolled/unrolled_function.h"

namespace rnnlab {

// The place of the first parameter among the operands, which are, in this order: sequence, initial hidden states,
// initial cell states (LSTM only), then the parameters layer by layer.
inline size_t first_parameter(Cell cell) { return cell == Cell::kLstm ? 3 : 2; }
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
