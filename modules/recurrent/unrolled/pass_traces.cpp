#include "recurrent/unrolled/pass_traces.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "recurrent/blocked/kept_memory.h"

namespace rnnlab {
namespace {

DirectionWeights weights_of(Cell cell, const std::vector<at::Tensor>& operands, size_t layer) {
  const auto* first = operands.data() + first_parameter(cell) + layer * kParametersPerDirection;
  return {first[0].contiguous(), first[1].contiguous(), first[2].contiguous(), first[3].contiguous()};
}

at::Tensor empty_for(const UnrolledSpec& spec, at::IntArrayRef shape, const at::TensorOptions& options) {
  return spec.rung.panel_products ? empty_kept(shape, options) : at::empty(shape, options);
}

// (L, T + 1, B, H), in one piece, for a diagonal through the layers is then one operand, and so are all initial states.
at::Tensor all_states(const UnrolledSpec& spec, const at::Tensor& initial, at::IntArrayRef shape,
                      const at::TensorOptions& options) {
  const at::Tensor all = empty_for(spec, shape, options);
  at::Tensor row = all.select(1, initial_row(spec.direction, shape[1] - 1));
  if (initial.numel() > 0)
    row.copy_(initial);
  else
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
  if (spec.cell == Cell::kGru)
    trace.candidates = empty_for(spec, {num_steps, batch_size, hidden.size(2)}, hidden.options());
  return trace;
}

void set_input(const at::Tensor& sequence, const at::Tensor& tokens, LayerTrace& trace) {
  (tokens.defined() ? trace.table : trace.input) = sequence.contiguous();
  if (tokens.defined()) trace.tokens = tokens.reshape({-1});
}

}  // namespace

// Autograd takes no undefined tensor: an initial state that is not there has no elements.
std::vector<at::Tensor> operands_of(Cell cell, const UnrolledInput& input) {
  const auto given_or_empty = [&](const at::Tensor& state) {
    return state.defined() ? state : at::empty({0}, input.sequence.options().requires_grad(false));
  };
  std::vector<at::Tensor> operands = {input.sequence, given_or_empty(input.hidden)};
  if (cell == Cell::kLstm) operands.push_back(given_or_empty(input.cell));
  for (const auto& [weight_ih, weight_hh, bias_ih, bias_hh] : input.layers)
    operands.insert(operands.end(), {weight_ih, weight_hh, bias_ih, bias_hh});
  return operands;
}

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
  if (spec.cell != Cell::kLstm) return {hidden, {}};
  return {hidden, all_states(spec, operands[2], shape, options.dtype(accumulation_type(spec.type)))};
}

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
    if (layer == 0)
      set_input(operands[0], tokens, traces[0]);
    else if (masks.empty())
      traces[layer].input = states_after(spec.direction, traces[layer - 1].hidden);
    else
      traces[layer].input = at::empty_like(masks[layer - 1]);
  }
  return traces;
}

}  // namespace rnnlab
