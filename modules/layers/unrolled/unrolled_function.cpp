// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include "layers/blocked/blocked_pass.h"
#include "layers/cpu_buffer_pool.h"
#include "layers/device/number_types.h"
#include "layers/execution_path.h"
#include "layers/segments.h"
#include "layers/unrolled/stack_function.h"

namespace rnnlab {

at::Tensor empty_tensor(at::IntArrayRef shape, const at::TensorOptions& options) { return at::empty(shape, options); }

States empty_states(const PassSpec& spec, const std::vector<at::Tensor>& operands, const at::Tensor& sequence,
                    Allocate allocate) {
  const size_t first = first_parameter(spec.cell);
  const auto num_layers = static_cast<int64_t>((operands.size() - first) / spec.num_weights());
  const int64_t hidden_size = operands[first].size(0) / spec.code->columns.input;  // of weight_ih
  std::vector<int64_t> shape = {num_layers, sequence.size(0) + 1, sequence.size(1), hidden_size};
  const auto options = operands[0].options().requires_grad(false);
  States states = {allocate(shape, options.dtype(spec.type)), {}};
  shape.back() *= spec.code->columns.inner;
  if (has_cell_state(spec.cell)) states.cell = allocate(shape, options.dtype(accumulation_type(spec.type)));
  return states;
}

void begin_trace(LayerTrace& trace, size_t layer, const PassSpec& spec, const std::vector<at::Tensor>& operands,
                 const States& states, Allocate allocate) {
  const auto* next = operands.data() + first_parameter(spec.cell) + layer * spec.num_weights();
  const auto index = static_cast<int64_t>(layer);
  spec.each_weight(trace.weights, [&](at::Tensor& weight) { weight = (next++)->contiguous(); });
  trace.hidden = states.hidden[index];
  if (states.cell.defined()) trace.cell = states.cell[index];
  const int64_t num_steps = trace.hidden.size(0) - 1, batch_size = trace.hidden.size(1);
  const auto options = trace.hidden.options();
  trace.gates = allocate({num_steps, batch_size, trace.weights.weight_ih.size(0)}, options);
  if (const int64_t num_more = spec.code->columns.kept - spec.code->columns.input; num_more > 0)
    trace.more_kept = allocate({num_steps, batch_size, num_more * trace.hidden_size()}, options);
  if (const int64_t num_operands = spec.code->columns.operands; num_operands > 0)
    trace.operands = allocate({num_steps, batch_size, num_operands * trace.hidden_size()}, options);
}

namespace {

// Returns one trace for each layer, with the initial states and, if there are masks, memory for the inputs of upper
// layers.
std::vector<LayerTrace> make_traces(const UnrolledSpec& spec, const std::vector<at::Tensor>& operands,
                                    const std::vector<at::Tensor>& masks) {
  const Allocate allocate = spec.variant.is_blocked ? empty_pooled : empty_tensor;
  const States states = empty_states(spec, operands, operands[0], allocate);
  const int64_t row = initial_row(spec.direction, operands[0].size(0));
  states.hidden.select(1, row).copy_(operands[1]);
  if (states.cell.defined()) states.cell.select(1, row).copy_(operands[2]);
  std::vector<LayerTrace> traces(static_cast<size_t>(states.hidden.size(0)));
  for (size_t layer = 0; layer < traces.size(); ++layer) {
    begin_trace(traces[layer], layer, spec, operands, states, allocate);
    if (spec.starts.defined() && spec.has_recurrent_product()) {
      traces[layer].read_hidden = allocate(traces[layer].hidden.sizes(), traces[layer].hidden.options());
      traces[layer].read_hidden[row].copy_(zero_where(spec.first_starts(), traces[layer].hidden[row]));
    }
    if (layer == 0)
      traces[0].input = operands[0].contiguous();
    else if (masks.empty())
      traces[layer].input = states_after(spec.direction, traces[layer - 1].hidden);
    else
      traces[layer].input = at::empty_like(masks[layer - 1]);
  }
  return traces;
}

bool runs_blocked(const UnrolledSpec& spec, const std::vector<LayerTrace>& traces) {
  return spec.variant.is_blocked && can_run_blocked(traces[0].gates.scalar_type());
}

// Reports that the variant's own code cannot do this work, and that the code of the layer below it runs.
void report_fallbacks(const UnrolledSpec& spec, const std::vector<LayerTrace>& traces,
                      const std::vector<at::Tensor>& masks) {
  if (spec.variant.shares_diagonals && !can_run_diagonal(spec, traces.size(), masks))
    report_fallback([&] {
      const char* reason = masks.empty() ? "a single layer has no diagonals" : "dropout between layers needs masks";
      return PathFallback{"layer", "the code of layer: wavefront", reason};
    });
  if (spec.variant.is_blocked && !runs_blocked(spec, traces))
    report_fallback([&] {
      return PathFallback{"layer", "the code of layer: hoisted",
                          fmt::format("blocked has no kernels for {} on this processor",
                                      number_type_name(traces[0].gates.scalar_type()))};
    });
}

void run_passes(const UnrolledSpec& spec, std::vector<LayerTrace>& traces, const std::vector<at::Tensor>& masks) {
  report_fallbacks(spec, traces, masks);
  if (can_run_diagonal(spec, traces.size(), masks)) {
    report_path(diagonal_path);
    return run_diagonal_forward(spec, traces);
  }
  if (!runs_blocked(spec, traces)) return run_forward_pass(spec, traces, masks);
  report_path([&] { return blocked_path(traces[0].gates.scalar_type()); });
  run_blocked_forward(spec, traces[0]);
}

struct UnrolledPass {
  using Spec = UnrolledSpec;
  using Trace = LayerTrace;

  static std::vector<LayerTrace> run_forward(const UnrolledSpec& spec, const std::vector<at::Tensor>& operands,
                                             const std::vector<at::Tensor>& masks, UnrolledResult& /*others*/) {
    std::vector<LayerTrace> traces = make_traces(spec, operands, masks);
    run_passes(spec, traces, masks);
    return traces;
  }

  static PassGradients run_backward(const UnrolledSpec& spec, const std::vector<LayerTrace>& traces,
                                    const std::vector<at::Tensor>& masks, const ResultGradients& results,
                                    NeededGradients needs) {
    if (can_run_diagonal(spec, traces.size(), masks)) return run_diagonal_backward(spec, traces, results, needs);
    if (runs_blocked(spec, traces)) return run_blocked_backward(spec, traces[0], results, needs);
    return run_backward_pass(spec, traces, masks, results, needs);
  }
};

}  // namespace

UnrolledResult run_unrolled(const UnrolledSpec& spec, const UnrolledInput& input) {
  return run_stack<UnrolledPass>(spec, input);
}

}  // namespace rnnlab
