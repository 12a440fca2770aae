// SPDX-License-Identifier: Apache-2.0
// Runs the point-wise part of one layer's steps, forward and backward: by one own kernel, or for LSTM by separate
// operations, on the device of the tensors and on its current stream.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"
#include "layers/kernels/pointwise.h"
#include "layers/unrolled/trace.h"

namespace rnnlab {

// Holds the gradients of one layer in the backward pass.
struct LayerGradients {
  at::Tensor output;          // (T, B, H), or undefined: of the hidden states as results
  at::Tensor cell_output;     // (T, B, H) acc, or undefined: of the cell states as results
  at::Tensor input_side;      // (T, B, G * H): of W_ih x + b_ih
  at::Tensor recurrent_side;  // (T, B, G * H): of W_hh h + b_hh; except for GRU the same tensor
  at::Tensor from_next_step;  // (B, H): of the hidden state, through the recurrent product
  at::Tensor carry;           // (B, H) acc: of the LSTM's cell state; of the GRU's hidden state without the product;
                              // of an own cell (B, S * H): of all states, the hidden one without the products
  at::Tensor input;           // (T, B, I), or undefined if it is not needed
};

enum class NextStep { kExists, kMissing };  // whether `from_next_step` counts

// Computes step t, a position in the sequence. The trace must have the products of the inputs and the state before the
// step. The activated gates replace the products, and the state after the step is written. `recurrent`: (B, G * H),
// W_hh h of step t.
void run_forward_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t);

// Computes the gradients of step t, after the step that was read next. Writes step t of `input_side` and
// `recurrent_side`, and changes `carry` from the gradient after the step to the gradient before it. The caller computes
// `from_next_step` for each step.
void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t);

// These functions compute the point-wise part of an LSTM step by LibTorch's own operations, one for every line of the
// formulas. `grouped` and `streamed` use them; all later variants use one kernel instead.

void run_separate_lstm_forward(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t);
void run_separate_lstm_backward(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients,
                                NextStep next, int64_t t);

// Starts the point-wise part of a step on the device of its tensors: on the current CUDA stream, or by the threads of
// the CPU.
template <class Work>
void launch_step(const Work& work, const at::Device& device) {
  if constexpr (std::is_same_v<Work, kernels::ProgramStep>)
    RNNLAB_INVARIANT(!device.is_cuda(), "programs have no kernels for GPUs here");
  else if (device.is_cuda())
    return run_kernels(work, device);
  constexpr int64_t kUnitsPerThread = 2048;  // the least work for which starting a thread of the CPU is worthwhile
  const int64_t grain = std::max<int64_t>(1, kUnitsPerThread / work.step.hidden_size);
  at::parallel_for(0, work.step.batch_size, grain, [&](int64_t first, int64_t last) {
    kernels::run(work, kernels::Rows{first, last});
  });
}

// Starts steps of several layers that do not wait for each other; on CUDA one kernel runs them.
template <class Work>
void launch_steps(std::span<const Work> works, const at::Device& device) {
  if (!device.is_cuda()) {
    for (const Work& work : works) launch_step(work, device);
    return;
  }
  for (size_t first = 0; first < works.size(); first += kernels::kLayersAtOnce)
    run_kernels(works.subspan(first, std::min(kernels::kLayersAtOnce, works.size() - first)), device);
}

inline kernels::Step step_of(const PassSpec& spec, const LayerTrace& trace) {
  if (is_own(spec.cell))
    return {.type = element_type(trace.gates.scalar_type()),
            .batch_size = trace.batch_size(),
            .hidden_size = trace.hidden_size()};
  const bool is_relu = library_cell(spec.cell) == LibraryCell::kRnnRelu || spec.activation == Activation::kRelu;
  return {element_type(trace.gates.scalar_type()),
          is_relu ? kernels::Nonlinearity::kRelu : kernels::Nonlinearity::kTanh, trace.batch_size(),
          trace.hidden_size()};
}

// Returns row t of a dense tensor (rows, B, columns), or null if the tensor is undefined.
inline void* row(const at::Tensor& tensor, int64_t t) {
  if (!tensor.defined()) return nullptr;
  const auto bytes = tensor.size(1) * tensor.size(2) * static_cast<int64_t>(tensor.element_size());
  return static_cast<std::byte*>(tensor.data_ptr()) + t * bytes;
}

// Returns the products of step t. `recurrent`: (B, G * H), W_hh h, or null.
inline kernels::Products products_of(const LayerTrace& trace, const void* recurrent, int64_t t) {
  return {row(trace.gates, t), recurrent, trace.weights.bias_ih.const_data_ptr(),
          trace.weights.bias_hh.const_data_ptr()};
}

// Returns the work of step t, for each type of work.
template <class Work>
Work forward_work(const UnrolledSpec& spec, const LayerTrace& trace, const kernels::Products& products, int64_t t) {
  const kernels::Step step = step_of(spec, trace);
  const auto [before, after] = state_rows(spec.direction, t);
  if constexpr (std::is_same_v<Work, kernels::LstmForward>)
    return {step, products, row(trace.cell, before), row(trace.cell, after), row(trace.hidden, after)};
  else if constexpr (std::is_same_v<Work, kernels::GruForward>)
    return {step, products, row(trace.hidden, before), row(trace.candidates, t), row(trace.hidden, after)};
  else if constexpr (std::is_same_v<Work, kernels::RnnForward>)
    return {step, products, row(trace.hidden, after)};
}

// Returns the backward work of step t. `side_row`: the row in the gradients of both sides.
template <class Work>
Work backward_work(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                   const kernels::HiddenGradient& hidden_gradient, int64_t t, int64_t side_row) {
  const kernels::Step step = step_of(spec, trace);
  const auto [before, after] = state_rows(spec.direction, t);
  void* input_side = row(gradients.input_side, side_row);
  if constexpr (std::is_same_v<Work, kernels::LstmBackward>)
    return {step,
            hidden_gradient,
            row(gradients.cell_output, t),
            row(trace.gates, t),
            row(trace.cell, before),
            row(trace.cell, after),
            gradients.carry.data_ptr(),
            input_side};
  else if constexpr (std::is_same_v<Work, kernels::GruBackward>)
    return {step,
            hidden_gradient,
            row(trace.gates, t),
            row(trace.candidates, t),
            row(trace.hidden, before),
            gradients.carry.data_ptr(),
            input_side,
            row(gradients.recurrent_side, side_row)};
  else if constexpr (std::is_same_v<Work, kernels::RnnBackward>)
    return {step, hidden_gradient, row(trace.hidden, after), input_side};
}

// Returns what the passes of step t of an own cell have in common.
inline kernels::ProgramStep program_step(const UnrolledSpec& spec, const LayerTrace& trace, int64_t t) {
  const auto [before, after] = state_rows(spec.direction, t);
  return {.step = step_of(spec, trace),
          .num_gates = spec.code->num_gates,
          .num_inner = spec.code->num_inner,
          .num_kept = spec.code->num_kept,
          .hidden_before = row(trace.hidden, before),
          .inner_before = row(trace.cell, before),
          .hidden_after = row(trace.hidden, after),
          .inner_after = row(trace.cell, after),
          .kept = row(trace.candidates, t)};
}

inline void set_instructions(kernels::ProgramStep& work, const std::vector<kernels::TileInstruction>& instructions) {
  work.instructions = instructions.data();
  work.num_instructions = std::ssize(instructions);
}

// Calls `run` with the work of step t, in the cell's type of work.
template <class Run>
void with_forward_work(const UnrolledSpec& spec, const LayerTrace& trace, const void* recurrent, int64_t t,
                       const Run& run) {
  const kernels::Products products = products_of(trace, recurrent, t);
  if (spec.code != nullptr) {
    kernels::ProgramStep work = program_step(spec, trace, t);
    set_instructions(work, spec.code->forward);
    work.products = products;
    return run(work);
  }
  switch (library_cell(spec.cell)) {
    case LibraryCell::kLstm:
      return run(forward_work<kernels::LstmForward>(spec, trace, products, t));
    case LibraryCell::kGru:
      return run(forward_work<kernels::GruForward>(spec, trace, products, t));
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return run(forward_work<kernels::RnnForward>(spec, trace, products, t));
  }
}

// Calls `run` with the backward work of step t. `from_next_step`: (B, H), or null.
template <class Run>
void with_backward_work(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                        const void* from_next_step, int64_t t, int64_t side_row, const Run& run) {
  const kernels::HiddenGradient hidden = {row(gradients.output, t), from_next_step};
  if (spec.code != nullptr) {
    kernels::ProgramStep work = program_step(spec, trace, t);
    set_instructions(work, spec.code->backward);
    work.hidden_gradient = hidden;
    work.inner_gradient = row(gradients.cell_output, t);
    work.carry = gradients.carry.data_ptr();
    work.input_side = row(gradients.input_side, side_row);
    work.hidden_side = row(gradients.recurrent_side, side_row);
    return run(work);
  }
  switch (library_cell(spec.cell)) {
    case LibraryCell::kLstm:
      return run(backward_work<kernels::LstmBackward>(spec, trace, gradients, hidden, t, side_row));
    case LibraryCell::kGru:
      return run(backward_work<kernels::GruBackward>(spec, trace, gradients, hidden, t, side_row));
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return run(backward_work<kernels::RnnBackward>(spec, trace, gradients, hidden, t, side_row));
  }
}

}  // namespace rnnlab
