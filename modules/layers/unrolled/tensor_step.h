// SPDX-License-Identifier: Apache-2.0
// Runs the point-wise part of one layer's steps by LibTorch's operators, one for each operation of the cell's program.
// `grouped` and `streamed` use it; all later variants use one kernel for a step. The results are those of the functions
// for steps in step_runner.h.
#pragma once

#include "layers/unrolled/trace.h"

namespace rnnlab {

void run_tensor_forward(const UnrolledSpec& spec, const LayerTrace& trace, const at::Tensor& recurrent, int64_t t);

void run_tensor_operands(const UnrolledSpec& spec, const LayerTrace& trace, const at::Tensor& recurrent, int64_t t);

void run_tensor_product_sides(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                              NextStep next, int64_t t);
void run_tensor_backward(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                         NextStep next, int64_t t);

}  // namespace rnnlab
