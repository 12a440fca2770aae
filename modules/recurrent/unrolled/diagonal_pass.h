// Declares both passes of `diagonal`. As in a wavefront, layer l works on step d - l while layer 0 works on
// step d. Here all layers on a diagonal d share one batched product and one point-wise kernel, because a GPU takes
// longer to start kernels of this size than to run them. One product multiplies the hidden state that a layer has just
// computed by the layer's recurrent weights and by the input weights of the layer above. The backward pass multiplies
// the gradients of the gates in the same way. Supports LSTM and plain cells, the forward direction, and no dropout
// between layers.
#pragma once

#include "recurrent/execution_path.h"
#include "recurrent/unrolled/backward_pass.h"

namespace rnnlab {

bool can_run_diagonal(const UnrolledSpec& spec, size_t num_layers, const std::vector<at::Tensor>& masks);

// Returns what a run records about this pass.
ExecutionPath diagonal_path();

// These functions have the contracts of run_forward_pass and run_backward_pass. The layers' `hidden` must lie one after
// the other in one piece of memory.
void run_diagonal_forward(const UnrolledSpec& spec, std::vector<LayerTrace>& layers);
PassGradients run_diagonal_backward(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                    const ResultGradients& results, Needs needs);

}  // namespace rnnlab
