// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/step_runner.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

namespace rnnlab {
namespace {

at::Tensor activated(Activation activation, const at::Tensor& x) {
  return activation == Activation::kTanh ? at::tanh(x) : at::relu(x);
}

at::Tensor slope(Activation activation, const at::Tensor& value) {
  return activation == Activation::kTanh ? 1 - value * value : value.gt(0).to(value.scalar_type());
}

at::Tensor sigmoid_slope(const at::Tensor& value) { return value * (1 - value); }

// Returns the gates i, f, g, o of a (B, 4H) matrix, as views.
struct GateViews {
  at::Tensor i, f, g, o;
};
GateViews views_of(const at::Tensor& matrix) {
  const auto parts = matrix.chunk(4, 1);
  return {parts[0], parts[1], parts[2], parts[3]};
}

}  // namespace

void run_separate_lstm_forward(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  const auto [before, after] = state_rows(spec.direction, t);
  const at::Tensor sums = trace.gates[t];
  sums.add_(recurrent).add_(trace.weights.bias_ih).add_(trace.weights.bias_hh);
  const auto [i, f, g, o] = views_of(sums);
  i.sigmoid_();
  f.sigmoid_();
  g.copy_(activated(spec.activation, g));
  o.sigmoid_();
  const at::Tensor cell = trace.cell[after];
  cell.copy_(f * trace.cell[before] + i * g);
  trace.hidden[after].copy_(o * activated(spec.activation, cell));
}

void run_separate_lstm_backward(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients,
                                NextStep next, int64_t t) {
  const auto [before, after] = state_rows(spec.direction, t);
  const auto [i, f, g, o] = views_of(trace.gates[t]);
  const auto target = views_of(gradients.input_side[t]);
  const at::Tensor value = activated(spec.activation, trace.cell[after]);
  at::Tensor hidden = next == NextStep::kExists ? gradients.from_next_step : at::zeros_like(gradients.from_next_step);
  if (gradients.output.defined()) hidden = hidden + gradients.output[t];
  at::Tensor cell = gradients.carry + hidden * o * slope(spec.activation, value);
  if (gradients.cell_output.defined()) cell = cell + gradients.cell_output[t];
  target.i.copy_(cell * g * sigmoid_slope(i));
  target.f.copy_(cell * trace.cell[before] * sigmoid_slope(f));
  target.g.copy_(cell * i * slope(spec.activation, g));
  target.o.copy_(hidden * value * sigmoid_slope(o));
  gradients.carry.copy_(cell * f);
}

void run_forward_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  if (!spec.variant.fuses_pointwise) return run_separate_lstm_forward(spec, trace, recurrent, t);
  with_forward_work(spec, trace, recurrent.const_data_ptr(), t,
                    [&](const auto& work) { launch_step(work, trace.gates.device()); });
}

void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t) {
  if (!spec.variant.fuses_pointwise) return run_separate_lstm_backward(spec, trace, gradients, next, t);
  const void* from_next_step = next == NextStep::kExists ? gradients.from_next_step.const_data_ptr() : nullptr;
  with_backward_work(spec, trace, gradients, from_next_step, t, t,
                     [&](const auto& work) { launch_step(work, trace.gates.device()); });
}

}  // namespace rnnlab
