// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/persistent_stack.h"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "layers/cuda_functions.h"
#include "layers/device/gpu_support.h"
#include "layers/device/number_types.h"
#include "layers/persistent/persistent_program.h"
#include "layers/unrolled/stack_function.h"

namespace rnnlab {
namespace {

// Returns traces with the initial states that are not missing. A missing state is a tensor without elements, because
// autograd does not accept undefined tensors.
std::vector<PersistentTrace> make_traces(const PersistentSpec& spec, const std::vector<at::Tensor>& operands,
                                         const States& states) {
  const int64_t initial = initial_row(spec.direction, states.hidden.size(1) - 1);
  const bool has_cell = states.cell.defined();
  const bool lacks_hidden = operands[1].numel() == 0, lacks_cell = has_cell && operands[2].numel() == 0;
  if (!lacks_hidden) states.hidden.select(1, initial).copy_(operands[1]);
  if (has_cell && !lacks_cell) states.cell.select(1, initial).copy_(operands[2]);
  std::vector<PersistentTrace> traces(static_cast<size_t>(states.hidden.size(0)));
  for (size_t layer = 0; layer < traces.size(); ++layer) {
    begin_trace(traces[layer], layer, spec, operands, states);
    traces[layer].starts = spec.starts;
    traces[layer].lacks_hidden = lacks_hidden;
    traces[layer].lacks_cell = lacks_cell;
    if (layer > 0) traces[layer].input = states_after(spec.direction, traces[layer - 1].hidden);
  }
  const bool reads_tokens = spec.tokens.defined();
  (reads_tokens ? traces[0].table : traces[0].input) = operands[0].to(spec.type).contiguous();
  if (reads_tokens) traces[0].tokens = spec.tokens.reshape({-1});
  return traces;
}

// Returns the states after the last step: a view of all states if the backward pass keeps them, otherwise a copy, so
// that they can be freed.
at::Tensor final_of(const PersistentSpec& spec, const at::Tensor& all) {
  const at::Tensor final = all.select(1, final_row(spec.direction, all.size(1) - 1));
  return spec.may_go_back ? final : final.clone();
}

// The other results are the final states of all layers, (L, B, H): if only these are used, gradients for all steps need
// not be allocated.
struct StackOfPersistent {
  using Spec = PersistentSpec;
  using Trace = PersistentTrace;

  static std::vector<PersistentTrace> run_forward(const PersistentSpec& spec, const std::vector<at::Tensor>& operands,
                                                  std::vector<at::Tensor>& masks, UnrolledResult& others) {
    const States states = empty_states(spec, operands, spec.tokens.defined() ? spec.tokens : operands[0]);
    std::vector<PersistentTrace> traces = make_traces(spec, operands, states);
    report_path([&] { return persistent_pass().path(spec, traces); });
    persistent_pass().run_forward(spec, traces, masks);
    others.hidden = {final_of(spec, states.hidden)};
    if (states.cell.defined()) others.cell = {final_of(spec, states.cell)};
    return traces;
  }

  template <class... Arguments>
  static PassGradients run_backward(const Arguments&... arguments) {
    return persistent_pass().run_backward(arguments...);
  }
};

}  // namespace

// persistent_pass() is defined only if there is a GPU.
void require_persistent_on_gpu(at::Device device, at::ScalarType type, const RecurrentOptions& options) {
  const bool is_fp32 = type == at::kFloat && !rounds_to_tf32();  // which has the fewest sizes
  require_supported(LayerKind::kPersistent, {.options = options,
                                             .precision = is_fp32 ? std::optional(Precision::kFp32) : std::nullopt,
                                             .processor = processor_of(device)});
  persistent_pass().require(device, type);
}

// If a table has at most as many rows as columns, products with the places of its tokens take less work than products
// with the input.
bool PersistentStack::reads_tokens(const at::Tensor& table, int64_t num_tokens) const {
  const bool are_float = table.scalar_type() == at::kFloat && weights().front().scalar_type() == at::kFloat;
  return !options().bidirectional && are_float && table.size(0) <= table.size(1) &&
         gains_by_one_hot(table.size(0), num_tokens);
}

RecurrentResult PersistentStack::run_tokens(const at::Tensor& table, const at::Tensor& tokens,
                                            const RecurrentState& initial) {
  const SequenceEnds all_whole({}, tokens.size(0), tokens.device());
  return run_pass({0, options().num_layers}, table, tokens, initial, all_whole);
}

RecurrentResult PersistentStack::run_loop(const Loop& loop, const at::Tensor& sequence, const RecurrentState& initial,
                                          const SequenceEnds& lengths, const at::Tensor& starts) {
  return run_pass(loop, sequence, {}, initial, lengths, starts);
}

// rows: (T, B, I), or with tokens, (T, B), a table (V, I).
RecurrentResult PersistentStack::run_pass(const Loop& loop, const at::Tensor& rows, const at::Tensor& tokens,
                                          const RecurrentState& initial, const SequenceEnds& lengths,
                                          const at::Tensor& starts) const {
  const at::ScalarType type = tokens.defined() ? product_type(rows) : rows.scalar_type();
  require_persistent_on_gpu(rows.device(), type, options());
  UnrolledInput input = input_of(loop, type, rows, initial, parameters_of);
  for (at::Tensor* state : {&input.hidden, &input.cell})
    if (!state->defined()) *state = at::empty({0}, rows.options().requires_grad(false));
  PersistentSpec spec = {{options().cell, loop.order, type, weights().front().scalar_type(), &code(), starts},
                         persistent_program_of(code(), starts.defined())};
  const kernels::StepColumns& columns = code().columns;
  RNNLAB_INVARIANT(columns.kept - columns.input <= 1, "kernels keep at most one value beside the gates");
  spec.kernels = options().persistent_form;
  spec.num_layers = loop.num_layers;
  if (is_training()) spec.dropout = options().dropout;
  spec.may_go_back = c10::GradMode::is_enabled();
  if (!rounds_to_tf32()) spec.operands = kernels::Operands::kFloat32;
  spec.tokens = tokens;
  spec.gradient_sink = gradient_sink();
  if (spec.gradient_sink != nullptr) spec.parameters = input.layers;

  UnrolledResult result = run_stack<StackOfPersistent>(spec, input);
  const auto last = [&](std::vector<at::Tensor>& states) {
    if (states.empty()) return at::Tensor();
    const at::Tensor final = states.back();
    states.pop_back();
    return lengths.all_whole() ? final : last_states(states, lengths, loop.order);
  };
  const at::Tensor hidden = last(result.hidden), cell = last(result.cell);
  return result_of(loop, result, {hidden, cell}, initial);
}

}  // namespace rnnlab
