// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/passes.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include "layers/blocked/blocked_pass.h"
#include "layers/blocked/cpu_buffer_pool.h"
#include "layers/cuda_functions.h"
#include "layers/device/number_types.h"
#include "layers/execution_path.h"

namespace rnnlab {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// ---- the traces of a pass, from its operands, the list of tensors that autograd sees ----

// Returns the position of the first parameter among the operands. The operands are, in this order: sequence, initial
// hidden states, initial cell states (if the cell has them), then the parameters layer by layer.
size_t first_parameter(Cell cell) { return has_cell_state(cell) ? 3 : 2; }

// Holds all states, (L, T + 1, B, H) each. Traces have slices of these tensors; the initial row is filled, unless a
// persistent pass will set it to 0.
struct States {
  at::Tensor hidden, cell;
};

DirectionWeights weights_of(Cell cell, const std::vector<at::Tensor>& operands, size_t layer) {
  const auto* first = operands.data() + first_parameter(cell) + layer * kParametersPerDirection;
  return {first[0].contiguous(), first[1].contiguous(), first[2].contiguous(), first[3].contiguous()};
}

at::Tensor empty_for(const UnrolledSpec& spec, at::IntArrayRef shape, const at::TensorOptions& options) {
  return spec.variant.is_blocked ? empty_pooled(shape, options) : at::empty(shape, options);
}

bool is_missing(const at::Tensor& initial) { return initial.numel() == 0; }

// Returns (L, T + 1, B, H) in one piece, so that a diagonal through the layers is one operand, and all initial states
// are one, too.
at::Tensor all_states(const UnrolledSpec& spec, const at::Tensor& initial, at::IntArrayRef shape,
                      const at::TensorOptions& options) {
  const at::Tensor all = empty_for(spec, shape, options);
  at::Tensor row = all.select(1, initial_row(spec.direction, shape[1] - 1));
  if (!is_missing(initial))
    row.copy_(initial);
  else if (!spec.variant.is_persistent)
    row.zero_();
  return all;
}

LayerTrace make_trace(const UnrolledSpec& spec, const DirectionWeights& weights, const at::Tensor& hidden,
                      const at::Tensor& cell) {
  const int64_t num_steps = hidden.size(0) - 1;
  const int64_t batch_size = hidden.size(1);
  LayerTrace trace;
  trace.weights = weights;
  trace.gates = empty_for(spec, {num_steps, batch_size, weights.weight_hh.size(0)}, hidden.options());
  trace.hidden = hidden;
  trace.cell = cell;
  if (has_two_sides(spec.cell))
    trace.candidates = empty_for(spec, {num_steps, batch_size, hidden.size(2)}, hidden.options());
  return trace;
}

void set_input(const at::Tensor& sequence, const at::Tensor& tokens, LayerTrace& trace) {
  (tokens.defined() ? trace.table : trace.input) = sequence.contiguous();
  if (tokens.defined()) trace.tokens = tokens.reshape({-1});
}

// Autograd does not accept undefined tensors, so a missing initial state is a tensor without elements.
std::vector<at::Tensor> operands_of(Cell cell, const UnrolledInput& input) {
  const auto given_or_empty = [&](const at::Tensor& state) {
    return state.defined() ? state : at::empty({0}, input.sequence.options().requires_grad(false));
  };
  std::vector<at::Tensor> operands = {input.sequence, given_or_empty(input.hidden)};
  if (has_cell_state(cell)) operands.push_back(given_or_empty(input.cell));
  for (const auto& [weight_ih, weight_hh, bias_ih, bias_hh] : input.layers)
    operands.insert(operands.end(), {weight_ih, weight_hh, bias_ih, bias_hh});
  return operands;
}

// Returns the operands with a table of tokens converted to the type of the states.
std::vector<at::Tensor> in_one_type(const UnrolledSpec& spec, std::vector<at::Tensor> operands) {
  const bool is_table = operands[0].dim() == 2;
  if (is_table) operands[0] = operands[0].to(spec.type);
  return operands;
}

States make_states(const UnrolledSpec& spec, const std::vector<at::Tensor>& operands, const at::Tensor& tokens) {
  const at::Tensor& steps = tokens.defined() ? tokens : operands[0];
  const size_t first = first_parameter(spec.cell);
  const auto num_layers = static_cast<int64_t>((operands.size() - first) / kParametersPerDirection);
  const int64_t hidden_size = operands[first + 1].size(1);  // of weight_hh
  const std::vector<int64_t> shape = {num_layers, steps.size(0) + 1, steps.size(1), hidden_size};
  const auto options = operands[0].options().requires_grad(false);
  const at::Tensor hidden = all_states(spec, operands[1], shape, options.dtype(spec.type));
  if (!has_cell_state(spec.cell)) return {hidden, {}};
  return {hidden, all_states(spec, operands[2], shape, options.dtype(accumulation_type(spec.type)))};
}

// Returns one trace for each layer, with memory for the results of a forward pass and, if there are masks, for the
// inputs of upper layers.
std::vector<LayerTrace> make_traces(const UnrolledSpec& spec, const std::vector<at::Tensor>& operands,
                                    const States& states, const at::Tensor& tokens,
                                    const std::vector<at::Tensor>& masks) {
  const auto& [hidden, cell] = states;
  const auto num_layers = static_cast<size_t>(hidden.size(0));
  std::vector<LayerTrace> traces;
  for (size_t layer = 0; layer < num_layers; ++layer) {
    const auto index = static_cast<int64_t>(layer);
    traces.push_back(make_trace(spec, weights_of(spec.cell, operands, layer), hidden[index],
                                cell.defined() ? cell[index] : at::Tensor()));
    traces.back().lacks_hidden = spec.variant.is_persistent && is_missing(operands[1]);
    traces.back().lacks_cell = spec.variant.is_persistent && cell.defined() && is_missing(operands[2]);
    if (layer == 0)
      set_input(operands[0], tokens, traces[0]);
    else if (masks.empty())
      traces[layer].input = states_after(spec.direction, traces[layer - 1].hidden);
    else
      traces[layer].input = at::empty_like(masks[layer - 1]);
  }
  return traces;
}

// ---- the autograd function ----

// Holds what the backward pass needs besides tensors.
struct PassContext : torch::CustomClassHolder {
  UnrolledSpec spec;
  size_t num_layers = 0;
  size_t num_masks = 0;  // masks that the caller gave
};

// Converts a trace to tensors for saving, and back. Inputs of upper layers without a mask are views of the states
// below.
constexpr size_t kTensorsPerTrace = 17;

void append(variable_list& list, const LayerTrace& trace) {
  const auto& [weight_ih, weight_hh, bias_ih, bias_hh] = trace.weights;
  list.insert(list.end(), {weight_ih, weight_hh, bias_ih, bias_hh, trace.input, trace.gates, trace.candidates,
                           trace.hidden, trace.cell, trace.table, trace.tokens, trace.packed, trace.weight_ih_operand,
                           trace.input_operand, trace.half_hidden, trace.input_unscale, trace.packed_input});
}

LayerTrace trace_of(const variable_list& list, size_t layer) {
  const auto* first = list.data() + layer * kTensorsPerTrace;
  return {{first[0], first[1], first[2], first[3]},
          first[4],
          first[5],
          first[6],
          first[7],
          first[8],
          first[9],
          first[10],
          first[11],
          first[12],
          first[13],
          first[14],
          first[15],
          first[16]};
}

bool runs_blocked(const UnrolledSpec& spec, const std::vector<LayerTrace>& traces) {
  return spec.variant.is_blocked && can_run_blocked(traces[0].gates.scalar_type());
}

PassGradients run_backward(const UnrolledSpec& spec, const std::vector<LayerTrace>& traces,
                           const std::vector<at::Tensor>& masks, const ResultGradients& results,
                           NeededGradients needs) {
  if (spec.variant.is_persistent) return persistent_pass().run_backward(spec, traces, masks, results, needs);
  if (can_run_diagonal(spec, traces.size(), masks)) return run_diagonal_backward(spec, traces, results, needs);
  if (runs_blocked(spec, traces)) return run_blocked_backward(spec, traces[0], results, needs);
  return run_backward_pass(spec, traces, masks, results, needs);
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

// Appends the masks that the pass itself draws to `masks`.
void run_forward(const UnrolledSpec& spec, std::vector<LayerTrace>& traces, std::vector<at::Tensor>& masks) {
  report_fallbacks(spec, traces, masks);
  if (can_run_diagonal(spec, traces.size(), masks)) {
    report_path(diagonal_path);
    return run_diagonal_forward(spec, traces);
  }
  if (spec.variant.is_persistent) {
    report_path([&] { return persistent_pass().path(spec, traces); });
    return persistent_pass().run_forward(spec, traces, masks);
  }
  if (!runs_blocked(spec, traces)) return run_forward_pass(spec, traces, masks);
  report_path([&] { return blocked_path(traces[0].gates.scalar_type()); });
  run_blocked_forward(spec, traces[0]);
}

at::Tensor dense(const at::Tensor& gradient) { return gradient.defined() ? gradient.contiguous() : gradient; }

// Tokens are wrapped, because autograd must not treat them as a tensor argument: they have no gradient.
struct Tokens {
  at::Tensor values;
};

class UnrolledFunction : public torch::autograd::Function<UnrolledFunction> {
 public:
  // The arguments are TensorLists, because autograd does not look into vectors.
  static variable_list forward(AutogradContext* context, at::TensorList operands, at::TensorList mask_list,
                               const Tokens& tokens, const UnrolledSpec& spec) {
    std::vector<at::Tensor> masks = mask_list.vec();
    const std::vector<at::Tensor> in_type = in_one_type(spec, operands.vec());
    const States states = make_states(spec, in_type, tokens.values);
    auto traces = make_traces(spec, in_type, states, tokens.values, masks);
    run_forward(spec, traces, masks);
    save(context, spec, traces, masks);
    context_of(*context)->num_masks = mask_list.size();
    variable_list results;
    for (const LayerTrace& trace : traces) results.push_back(states_after(spec.direction, trace.hidden));
    if (has_cell_state(spec.cell))
      for (const LayerTrace& trace : traces) results.push_back(states_after(spec.direction, trace.cell));
    if (!spec.variant.is_persistent) return results;
    for (const at::Tensor& all : {states.hidden, states.cell})
      if (all.defined()) results.push_back(final_of(spec, all));
    return results;
  }

  static variable_list backward(AutogradContext* context, const variable_list& result_gradients) {
    const auto pass = context_of(*context);
    const variable_list saved = context->get_saved_variables();
    std::vector<LayerTrace> traces;
    for (size_t layer = 0; layer < pass->num_layers; ++layer) traces.push_back(trace_of(saved, layer));
    const std::vector<at::Tensor> masks(saved.begin() + static_cast<int64_t>(pass->num_layers * kTensorsPerTrace),
                                        saved.end());
    const NeededGradients needs = {context->needs_input_grad(0), any_parameter_needs(*context, *pass)};
    const ResultGradients results = split(result_gradients, *pass);
    return in_order(run_backward(pass->spec, traces, masks, results, needs), *context, *pass);
  }

 private:
  // Returns a view of all states if the backward pass keeps them, otherwise a copy, so that they can be freed.
  static at::Tensor final_of(const UnrolledSpec& spec, const at::Tensor& all) {
    const at::Tensor final = all.select(1, final_row(spec.direction, all.size(1) - 1));
    return spec.gradients == GradientUse::kPossible ? final : final.clone();
  }

  static c10::intrusive_ptr<PassContext> context_of(AutogradContext& context) {
    return c10::static_intrusive_pointer_cast<PassContext>(context.saved_data["pass"].toCapsule());
  }

  static void save(AutogradContext* context, const UnrolledSpec& spec, const std::vector<LayerTrace>& traces,
                   const std::vector<at::Tensor>& masks) {
    variable_list saved;
    for (const LayerTrace& trace : traces) append(saved, trace);
    saved.insert(saved.end(), masks.begin(), masks.end());
    context->save_for_backward(saved);
    auto pass = c10::make_intrusive<PassContext>();
    pass->spec = spec;
    pass->num_layers = traces.size();
    context->saved_data["pass"] = c10::IValue::make_capsule(pass);
    context->set_materialize_grads(false);
  }

  static bool any_parameter_needs(const AutogradContext& context, const PassContext& pass) {
    for (size_t i = 0; i < pass.num_layers * kParametersPerDirection; ++i)
      if (context.needs_input_grad(first_parameter(pass.spec.cell) + i)) return true;
    return false;
  }

  // Splits the gradients in the order of the results.
  static ResultGradients split(const variable_list& gradients, const PassContext& pass) {
    ResultGradients results;
    const bool has_cell = has_cell_state(pass.spec.cell);
    auto next = gradients.begin();
    for (size_t i = 0; i < pass.num_layers; ++i) results.hidden.push_back(dense(*next++));
    for (size_t i = 0; has_cell && i < pass.num_layers; ++i) results.cell.push_back(dense(*next++));
    if (!pass.spec.variant.is_persistent) return results;
    results.final_hidden = dense(*next++);
    if (has_cell) results.final_cell = dense(*next++);
    return results;
  }

  static at::Tensor stack_if(bool is_needed, const variable_list& layers) {
    return is_needed ? at::stack(layers) : at::Tensor();
  }

  // Returns one gradient for each argument of forward(); undefined for the masks, the tokens and the specification.
  static variable_list in_order(const PassGradients& gradients, const AutogradContext& context,
                                const PassContext& pass) {
    variable_list hidden, cell;
    for (const InitialGradients& initial : gradients.initial) {
      hidden.push_back(initial.hidden);
      if (initial.cell.defined()) cell.push_back(initial.cell);
    }
    variable_list list = {gradients.input, stack_if(context.needs_input_grad(1), hidden)};
    if (!cell.empty()) list.push_back(stack_if(context.needs_input_grad(2), cell));
    for (const auto& [weight_ih, weight_hh, bias_ih, bias_hh] : gradients.weights)
      list.insert(list.end(), {weight_ih, weight_hh, bias_ih, bias_hh});
    if (gradients.weights.empty()) list.resize(list.size() + gradients.initial.size() * kParametersPerDirection);
    list.resize(list.size() + pass.num_masks + 2);
    return list;
  }
};

}  // namespace

UnrolledResult run_unrolled(const UnrolledSpec& spec, const UnrolledInput& input) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const auto operands = operands_of(spec.cell, input);
  const variable_list states =
      UnrolledFunction::apply(at::TensorList(operands), at::TensorList(input.masks), Tokens{input.tokens}, spec);
  const auto num_layers = static_cast<std::ptrdiff_t>(input.layers.size());
  const auto end_of_hidden = states.begin() + num_layers;
  const auto end_of_cell = end_of_hidden + (has_cell_state(spec.cell) ? num_layers : 0);
  UnrolledResult result = {{states.begin(), end_of_hidden}, {end_of_hidden, end_of_cell}, {}, {}};
  if (end_of_cell != states.end()) result.final_hidden = *end_of_cell;
  if (end_of_cell != states.end() && has_cell_state(spec.cell)) result.final_cell = states.back();
  return result;
}

}  // namespace rnnlab
