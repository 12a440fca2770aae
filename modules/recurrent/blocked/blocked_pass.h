// The forward and the backward pass of one layer on the CPU by panel products (panel.h), in the place of
// run_forward_pass and run_backward_pass: the same traces, the same results to rounding. All sums before activation and
// all gradients of hidden states between steps stay in float32.
#pragma once

#include "recurrent/execution_path.h"
#include "recurrent/unrolled/backward_pass.h"
#include "recurrent/unrolled/trace.h"

namespace rnnlab {

// Whether this processor has the kernels for traces of this type.
bool can_run_blocked(at::ScalarType type);

// What such a pass runs, for execution_path.h.
ExecutionPath blocked_path(at::ScalarType type);

// As for run_forward_pass, for one layer on the CPU.
void run_blocked_forward(const UnrolledSpec& spec, LayerTrace& trace);

// As for run_backward_pass, likewise.
PassGradients run_blocked_backward(const UnrolledSpec& spec, const LayerTrace& trace, const ResultGradients& results,
                                   Needs needs);

}  // namespace rnnlab
