// One step of a trace as the kernels want it (kernels/pointwise.h): pointers into the tensors of the pass.
#pragma once

#include "base/error.h"
#include "recurrent/kernels/pointwise.h"
#include "recurrent/unrolled/step_runner.h"

namespace rnnlab {

inline kernels::ElementType element_type(at::ScalarType type) {
  if (type == at::kFloat) return kernels::ElementType::kFloat32;
  if (type == at::kDouble) return kernels::ElementType::kFloat64;
  if (type == at::kHalf) return kernels::ElementType::kFloat16;
  RNNLAB_INVARIANT(type == at::kBFloat16, fmt::format("no kernel for {}", c10::toString(type)));
  return kernels::ElementType::kBfloat16;
}

inline kernels::Step step_of(const UnrolledSpec& spec, const LayerTrace& trace) {
  const bool is_relu = spec.cell == Cell::kRnnRelu || spec.activation == Activation::kRelu;
  return {element_type(trace.gates.scalar_type()),
          is_relu ? kernels::Nonlinearity::kRelu : kernels::Nonlinearity::kTanh, trace.batch_size(),
          trace.hidden_size()};
}

// Row t of a dense tensor (rows, B, columns), or null.
inline void* row(const at::Tensor& tensor, int64_t t) {
  if (!tensor.defined()) return nullptr;
  const auto bytes = tensor.size(1) * tensor.size(2) * static_cast<int64_t>(tensor.element_size());
  return static_cast<std::byte*>(tensor.data_ptr()) + t * bytes;
}

// Calls `run` with the work of step t. `recurrent`: (B, G * H), W_hh h, or null.
template <class Run>
void with_forward_work(const UnrolledSpec& spec, const LayerTrace& trace, const void* recurrent, int64_t t,
                       const Run& run) {
  const kernels::Step step = step_of(spec, trace);
  const kernels::Products products = {row(trace.gates, t), recurrent, trace.weights.bias_ih.const_data_ptr(),
                                      trace.weights.bias_hh.const_data_ptr()};
  const auto [before, after] = state_rows(spec.direction, t);
  if (spec.cell == Cell::kLstm)
    return run(kernels::LstmForward{step, products, row(trace.cell, before), row(trace.cell, after),
                                    row(trace.hidden, after)});
  if (spec.cell == Cell::kGru)
    return run(kernels::GruForward{step, products, row(trace.hidden, before), row(trace.candidates, t),
                                   row(trace.hidden, after)});
  run(kernels::RnnForward{step, products, row(trace.hidden, after)});
}

// The same backwards. `from_next_step`: (B, H), or null. `side_row`: of the gradients of both sides.
template <class Run>
void with_backward_work(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                        const void* from_next_step, int64_t t, int64_t side_row, const Run& run) {
  const kernels::Step step = step_of(spec, trace);
  const kernels::HiddenGradient hidden_gradient = {row(gradients.output, t), from_next_step};
  const auto [before, after] = state_rows(spec.direction, t);
  if (spec.cell == Cell::kLstm)
    return run(kernels::LstmBackward{step, hidden_gradient, row(gradients.cell_output, t), row(trace.gates, t),
                                     row(trace.cell, before), row(trace.cell, after), gradients.carry.data_ptr(),
                                     row(gradients.input_side, side_row)});
  if (spec.cell == Cell::kGru)
    return run(kernels::GruBackward{step, hidden_gradient, row(trace.gates, t), row(trace.candidates, t),
                                    row(trace.hidden, before), gradients.carry.data_ptr(),
                                    row(gradients.input_side, side_row), row(gradients.recurrent_side, side_row)});
  run(kernels::RnnBackward{step, hidden_gradient, row(trace.hidden, after), row(gradients.input_side, side_row)});
}

}  // namespace rnnlab
