// SPDX-License-Identifier: Apache-2.0
// Declares the forward and the backward pass of one layer on the CPU by panel products (panel.h). The passes replace
// run_forward_pass and run_backward_pass: they use the same traces and give the same results except for rounding. All
// sums before activation and all gradients of hidden states between steps stay in float32. The layer `blocked` and its
// record are those of unrolled/unrolled_layers.cpp.
#pragma once

#include "layers/execution_path.h"
#include "layers/unrolled/passes.h"
#include "layers/unrolled/trace.h"

namespace rnnlab {

// Returns whether this processor has the kernels for traces of this type.
bool can_run_blocked(at::ScalarType type);

// Returns what such a pass runs, for execution_path.h.
ExecutionPath blocked_path(at::ScalarType type);

// Has the contract of run_forward_pass, for one layer on the CPU.
void run_blocked_forward(const UnrolledSpec& spec, LayerTrace& trace);

// Has the contract of run_backward_pass, for one layer on the CPU.
PassGradients run_blocked_backward(const UnrolledSpec& spec, const LayerTrace& trace, const ResultGradients& results,
                                   NeededGradients needs);

}  // namespace rnnlab
