// The forward and the backward pass of a stack of layers on a GPU with clusters by one kernel a layer each, or a part
// of its steps (kernels/persistent/persistent_layer.h, layer_parts.h), in the place of run_forward_pass and
// run_backward_pass: the same traces, the same results to the rounding of the type, and of TF32 in float32 where
// LibTorch allows TF32 in products. The products for weights' gradients run beside other layers' kernels, which leave
// SMs free.
#pragma once

#include "recurrent/execution_path.h"
#include "recurrent/unrolled/backward_pass.h"
#include "recurrent/unrolled/trace.h"

namespace rnnlab {

// UserError kUsage where the pass cannot run as `layer: persistent`: another processor than a GPU of compute capability
// 9.0 or later, no compiler for its kernels, a kind of GPU that failed its check (first_check.h), float64, or
// more units than there are kernels for in float32. kDevice if an earlier pass on that GPU timed out.
void require_persistent(const at::Tensor& sequence, int64_t hidden_size);

// What a forward pass runs, for execution_path.h.
ExecutionPath persistent_path(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers);

// As for run_forward_pass, but that it draws the masks, bool, where the specification has dropout. Captured in a CUDA
// graph, it runs at every replay; it allocates by LibTorch.
void run_persistent_forward(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, std::vector<at::Tensor>& masks);

// As for run_backward_pass, likewise, after a forward pass for which gradients were possible.
PassGradients run_persistent_backward(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                      const std::vector<at::Tensor>& masks, const ResultGradients& results,
                                      Needs needs);

}  // namespace rnnlab
