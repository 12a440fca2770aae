// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/step_runner.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <vector>

#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"

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

kernels::Products products_of(const LayerTrace& trace, const void* recurrent, int64_t t) {
  const DirectionWeights& weights = trace.weights;
  return {row(trace.gates, t), recurrent, weights.bias_ih.const_data_ptr(),
          weights.bias_hh.defined() ? weights.bias_hh.const_data_ptr() : nullptr};
}

namespace {

// Returns what the passes of step t have in common.
kernels::ProgramStep program_step(const UnrolledSpec& spec, const LayerTrace& trace, int64_t t) {
  const auto [before, after] = state_rows(spec.direction, t);
  return {.step = {element_type(trace.gates.scalar_type()), trace.batch_size(), trace.hidden_size()},
          .program = spec.program,
          .columns = spec.code->columns,
          .text = spec.code->text.c_str(),
          .hidden_before = row(trace.hidden, before),
          .inner_before = row(trace.cell, before),
          .hidden_after = row(trace.hidden, after),
          .inner_after = row(trace.cell, after),
          .kept = row(trace.gates, t),
          .more_kept = row(trace.more_kept, t),
          .vectors = trace.weights.vectors.defined() ? trace.weights.vectors.const_data_ptr() : nullptr};
}

void set_pass(kernels::ProgramStep& work, kernels::StepPass pass,
              const std::vector<kernels::TileInstruction>& instructions) {
  work.pass = pass;
  work.instructions = instructions.data();
  work.num_instructions = std::ssize(instructions);
}

}  // namespace

kernels::ProgramStep forward_work(const UnrolledSpec& spec, const LayerTrace& trace, const kernels::Products& products,
                                  int64_t t) {
  kernels::ProgramStep work = program_step(spec, trace, t);
  set_pass(work, kernels::StepPass::kForward, spec.code->forward);
  work.products = products;
  return work;
}

kernels::ProgramStep backward_work(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                                   const kernels::HiddenGradient& hidden_gradient, int64_t t, int64_t side_row) {
  kernels::ProgramStep work = program_step(spec, trace, t);
  set_pass(work, kernels::StepPass::kBackward, spec.code->backward);
  work.hidden_gradient = hidden_gradient;
  work.inner_gradient = row(gradients.cell_output, t);
  work.carry = gradients.carry.defined() ? gradients.carry.data_ptr() : nullptr;
  work.input_side = row(gradients.input_side, side_row);
  work.hidden_side = row(gradients.recurrent_side, side_row);
  work.vector_gradients = row(gradients.vectors, side_row);
  return work;
}

void launch_step(const kernels::ProgramStep& work, const at::Device& device) {
  if (device.is_cuda()) return run_kernels(work, device);
  constexpr int64_t kUnitsPerThread = 2048;  // the least work for which starting a thread of the CPU is worthwhile
  const int64_t grain = std::max<int64_t>(1, kUnitsPerThread / work.step.hidden_size);
  at::parallel_for(0, work.step.batch_size, grain, [&](int64_t first, int64_t last) {
    kernels::run(work, kernels::Rows{first, last});
  });
}

void launch_steps(std::span<const kernels::ProgramStep> works, const at::Device& device) {
  if (!device.is_cuda()) {
    for (const kernels::ProgramStep& work : works) launch_step(work, device);
    return;
  }
  for (size_t first = 0; first < works.size(); first += kernels::kLayersAtOnce)
    run_kernels(works.subspan(first, std::min(kernels::kLayersAtOnce, works.size() - first)), device);
}

void run_forward_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  if (!spec.variant.fuses_pointwise) return run_separate_lstm_forward(spec, trace, recurrent, t);
  const kernels::Products products = products_of(trace, recurrent.const_data_ptr(), t);
  launch_step(forward_work(spec, trace, products, t), trace.gates.device());
}

void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t) {
  if (!spec.variant.fuses_pointwise) return run_separate_lstm_backward(spec, trace, gradients, next, t);
  const void* from_next_step = next == NextStep::kExists ? gradients.from_next_step.const_data_ptr() : nullptr;
  const kernels::HiddenGradient hidden = {row(gradients.output, t), from_next_step};
  launch_step(backward_work(spec, trace, gradients, hidden, t, t), trace.gates.device());
}

}  // namespace rnnlab
