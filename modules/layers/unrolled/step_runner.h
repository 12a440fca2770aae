// SPDX-License-Identifier: Apache-2.0
// Runs the point-wise part of one layer's steps, forward and backward: by one own kernel, or by LibTorch's operators
// (tensor_step.h), on the device of the tensors and on its current stream.
#pragma once

#include <cstddef>
#include <span>

#include "layers/kernels/program_step.h"
#include "layers/unrolled/trace.h"

namespace rnnlab {

// Computes the operands of the products of step t, into the trace, from the products that wait for none. Only for cells
// that have operands, like the next function.
void run_operands_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t);

// Computes the gradients of the products that read operands, in step t of `recurrent_side`, before those of the
// operands are known.
void run_product_sides_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                            int64_t t);

// Computes step t, a position in the sequence. The trace must have the products of the inputs and the state before the
// step. The kept values replace the products, and the state after the step is written. `recurrent`: (B, G * H),
// W_hh h of step t.
void run_forward_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t);

// Computes the gradients of step t, after the step that was read next. Writes step t of `input_side` and
// `recurrent_side`, and changes `carry` from the gradient after the step to the gradient before it. The caller computes
// `from_next_step` for each step.
void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t);

// Starts the point-wise part of a step on the device of its tensors: on the current CUDA stream, or by the threads of
// the CPU.
void launch_step(const kernels::ProgramStep& work, const at::Device& device);

// Starts steps of several layers that do not wait for each other; on CUDA one kernel runs them.
void launch_steps(std::span<const kernels::ProgramStep> works, const at::Device& device);

// Returns row t of a dense tensor (rows, B, columns), or null if the tensor is undefined.
inline void* row(const at::Tensor& tensor, int64_t t) {
  if (!tensor.defined()) return nullptr;
  const auto bytes = tensor.size(1) * tensor.size(2) * static_cast<int64_t>(tensor.element_size());
  return static_cast<std::byte*>(tensor.data_ptr()) + t * bytes;
}

// Returns the products of step t. `recurrent`: (B, G * H), W_hh h, or null.
kernels::Products products_of(const LayerTrace& trace, const void* recurrent, int64_t t);

// Returns the work of step t.
kernels::ProgramStep forward_work(const UnrolledSpec& spec, const LayerTrace& trace, const kernels::Products& products,
                                  int64_t t);

// Likewise for the backward pass. `side_row`: the row in the gradients of both sides.
kernels::ProgramStep backward_work(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                                   const kernels::HiddenGradient& hidden_gradient, int64_t t, int64_t side_row);

}  // namespace rnnlab
