// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/step_runner.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"
#include "layers/unrolled/tensor_step.h"

namespace rnnlab {
kernels::Products products_of(const LayerTrace& trace, const void* recurrent, int64_t t) {
  const DirectionWeights& weights = trace.weights;
  return {row(trace.gates, t), recurrent, weights.bias_ih.const_data_ptr(),
          weights.bias_hh.defined() ? weights.bias_hh.const_data_ptr() : nullptr};
}

namespace {

const bool* starts_row(const PassSpec& spec, int64_t t) {
  return spec.has_starts_at(t) ? static_cast<const bool*>(row(spec.starts, t)) : nullptr;
}

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
          .vectors = trace.weights.vectors.defined() ? trace.weights.vectors.const_data_ptr() : nullptr,
          .starts = starts_row(spec, t),
          .next_starts = starts_row(spec, step_after(spec.direction, t))};
}

const std::vector<kernels::TileInstruction>& instructions_of(const StepCode& code, kernels::StepPass pass) {
  switch (pass) {
    case kernels::StepPass::kForward:
      return code.forward;
    case kernels::StepPass::kBackward:
      return code.backward;
    case kernels::StepPass::kOperands:
      return code.operands;
    case kernels::StepPass::kProductSides:
      return code.product_sides;
  }
  fail_invariant("a listed pass", __FILE__, __LINE__, "instructions_of does not know the pass");
}

void set_pass(kernels::ProgramStep& work, kernels::StepPass pass, const StepCode& code) {
  const auto& instructions = instructions_of(code, pass);
  work.pass = pass;
  work.instructions = instructions.data();
  work.num_instructions = std::ssize(instructions);
}

kernels::HiddenGradient hidden_gradient_of(const LayerGradients& gradients, NextStep next, int64_t t) {
  return {row(gradients.output, t), next == NextStep::kExists ? gradients.from_next_step.const_data_ptr() : nullptr};
}

}  // namespace

kernels::ProgramStep forward_work(const UnrolledSpec& spec, const LayerTrace& trace, const kernels::Products& products,
                                  int64_t t) {
  kernels::ProgramStep work = program_step(spec, trace, t);
  set_pass(work, kernels::StepPass::kForward, *spec.code);
  work.products = products;
  work.hidden_of_products = row(trace.read_hidden, state_rows(spec.direction, t).after);
  return work;
}

kernels::ProgramStep backward_work(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                                   const kernels::HiddenGradient& hidden_gradient, int64_t t, int64_t side_row) {
  kernels::ProgramStep work = program_step(spec, trace, t);
  set_pass(work, kernels::StepPass::kBackward, *spec.code);
  work.hidden_gradient = hidden_gradient;
  work.inner_gradient = row(gradients.cell_output, t);
  work.carry = gradients.carry.defined() ? gradients.carry.data_ptr() : nullptr;
  work.input_side = row(gradients.input_side, side_row);
  work.hidden_side = row(gradients.recurrent_side, side_row);
  work.vector_gradients = row(gradients.vectors, side_row);
  if (gradients.operands.defined()) work.operand_gradients = gradients.operands.const_data_ptr();
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

void run_operands_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  if (!spec.variant.fuses_pointwise) return run_tensor_operands(spec, trace, recurrent, t);
  kernels::ProgramStep work = forward_work(spec, trace, products_of(trace, recurrent.const_data_ptr(), t), t);
  set_pass(work, kernels::StepPass::kOperands, *spec.code);
  work.operands = row(trace.operands, t);
  launch_step(work, trace.gates.device());
}

void run_forward_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  if (!spec.variant.fuses_pointwise) return run_tensor_forward(spec, trace, recurrent, t);
  const void* products = recurrent.defined() ? recurrent.const_data_ptr() : nullptr;
  launch_step(forward_work(spec, trace, products_of(trace, products, t), t), trace.gates.device());
}

void run_product_sides_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                            int64_t t) {
  if (!spec.variant.fuses_pointwise) return run_tensor_product_sides(spec, trace, gradients, next, t);
  kernels::ProgramStep work = backward_work(spec, trace, gradients, hidden_gradient_of(gradients, next, t), t, t);
  set_pass(work, kernels::StepPass::kProductSides, *spec.code);
  launch_step(work, trace.gates.device());
}

void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t) {
  if (!spec.variant.fuses_pointwise) return run_tensor_backward(spec, trace, gradients, next, t);
  launch_step(backward_work(spec, trace, gradients, hidden_gradient_of(gradients, next, t), t, t),
              trace.gates.device());
}

}  // namespace rnnlab
