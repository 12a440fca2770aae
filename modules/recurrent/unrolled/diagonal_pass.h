// Both passes of the rung `diagonal`. As in a wavefront, layer l works on step d - l while layer 0 works on step d;
// here all layers on a diagonal d share one batched product and one point-wise kernel, for a GPU is slower at starting
// kernels than at running ones of this size. The hidden state that a layer has just left is multiplied by its own
// recurrent weights and by the input weights of the layer above in one product; backwards likewise the gradients of its
// gates. LSTM and plain cells, forward direction, no dropout between layers.
#pragma once

#include "recurrent/execution_path.h"
#include "recurrent/unrolled/backward_pass.h"

namespace rnnlab {

bool can_run_diagonal(const UnrolledSpec& spec, size_t num_layers, const std::vector<at::Tensor>& masks);

// What a run records of it.
ExecutionPath diagonal_path();

// As run_forward_pass and run_backward_pass. The layers' `hidden` must lie one after the other in one piece of memory.
void run_diagonal_forward(const UnrolledSpec& spec, std::vector<LayerTrace>& layers);
PassGradients run_diagonal_backward(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                    const ResultGradients& results, Needs needs);

}  // namespace rnnlab
