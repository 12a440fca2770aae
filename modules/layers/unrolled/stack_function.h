// SPDX-License-Identifier: Apache-2.0
// Runs a pass over a stack of layers of one direction as one autograd function, which does not see the steps or their
// intermediate results. A Pass has the types Spec and Trace, derived from PassSpec and LayerTrace, and two functions:
//
//   // Appends the masks that it draws itself to `masks`. `others`: results besides the states after each step.
//   static std::vector<Trace> run_forward(const Spec& spec, const std::vector<at::Tensor>& operands,
//                                         std::vector<at::Tensor>& masks, UnrolledResult& others);
//   // The lists of `results` end with the gradients of the other results.
//   static PassGradients run_backward(const Spec& spec, const std::vector<Trace>& traces,
//                                     const std::vector<at::Tensor>& masks, const ResultGradients& results,
//                                     NeededGradients needs);
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/custom_function.h>

#include "layers/unrolled/passes.h"

namespace rnnlab {

// Holds all states, (L, T + 1, B, H), and the inner ones side by side. Traces have slices of these tensors.
struct States {
  at::Tensor hidden, cell;
};

// Returns the position of the first parameter among the operands, the list of tensors that autograd sees: sequence,
// initial hidden states, initial inner states (if the cell has them), then the weights of each layer that the cell has.
inline size_t first_parameter(Cell cell) { return has_cell_state(cell) ? 3 : 2; }

// Allocates the states of a sequence (T, B, ...), each in one piece, so that a diagonal through the layers is one
// operand, and all initial states are one, too.
States empty_states(const PassSpec& spec, const std::vector<at::Tensor>& operands, const at::Tensor& sequence,
                    Allocate allocate = empty_tensor);

// Gives a trace the weights and the states of its layer, and memory for the results of a forward pass.
void begin_trace(LayerTrace& trace, size_t layer, const PassSpec& spec, const std::vector<at::Tensor>& operands,
                 const States& states, Allocate allocate = empty_tensor);

// Splits a list of hidden states and, if the cell has them, as many of inner states.
inline UnrolledResult split_states(Cell cell, const std::vector<at::Tensor>& list) {
  const auto end_of_hidden = list.begin() + std::ssize(list) / (has_cell_state(cell) ? 2 : 1);
  return {{list.begin(), end_of_hidden}, {end_of_hidden, list.end()}};
}

template <class Pass>
class StackFunction : public torch::autograd::Function<StackFunction<Pass>> {
  using Spec = typename Pass::Spec;
  using Trace = typename Pass::Trace;
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  // Holds what the backward pass needs besides tensors.
  struct PassContext : torch::CustomClassHolder {
    Spec spec;
    size_t num_layers = 0;
    size_t num_masks = 0;  // masks that the caller gave
  };

 public:
  // The arguments are TensorLists, because autograd does not look into vectors.
  static List forward(Context* context, at::TensorList operands, at::TensorList mask_list, const Spec& spec) {
    List masks = mask_list.vec(), saved, results;
    UnrolledResult others;
    std::vector<Trace> traces = Pass::run_forward(spec, operands.vec(), masks, others);
    for (const Trace& trace : traces) results.push_back(states_after(spec.direction, trace.hidden));
    results.insert(results.end(), others.hidden.begin(), others.hidden.end());
    if (has_cell_state(spec.cell))
      for (const Trace& trace : traces) results.push_back(states_after(spec.direction, trace.cell));
    results.insert(results.end(), others.cell.begin(), others.cell.end());

    for (Trace& trace : traces)
      for (const at::Tensor* tensor : trace.tensors()) saved.push_back(*tensor);
    saved.insert(saved.end(), masks.begin(), masks.end());
    context->save_for_backward(saved);
    context->set_materialize_grads(false);
    auto pass = c10::make_intrusive<PassContext>();
    pass->spec = spec;
    pass->num_layers = traces.size();
    pass->num_masks = mask_list.size();
    context->saved_data["pass"] = c10::IValue::make_capsule(pass);
    return results;
  }

  static List backward(Context* context, List result_gradients) {
    const auto pass = c10::static_intrusive_pointer_cast<PassContext>(context->saved_data["pass"].toCapsule());
    const List saved = context->get_saved_variables();
    auto next = saved.begin();
    std::vector<Trace> traces(pass->num_layers);
    for (Trace& trace : traces)
      for (at::Tensor* tensor : trace.tensors()) *tensor = *next++;
    const std::vector<at::Tensor> masks(next, saved.end());
    const NeededGradients needs = {context->needs_input_grad(0), any_parameter_needs(*context, *pass)};
    for (at::Tensor& gradient : result_gradients)
      if (gradient.defined()) gradient = gradient.contiguous();
    const auto results = split_states(pass->spec.cell, result_gradients);
    return in_order(Pass::run_backward(pass->spec, traces, masks, results, needs), *context, *pass);
  }

 private:
  static bool any_parameter_needs(const Context& context, const PassContext& pass) {
    for (size_t i = 0; i < pass.num_layers * pass.spec.num_weights(); ++i)
      if (context.needs_input_grad(first_parameter(pass.spec.cell) + i)) return true;
    return false;
  }

  static at::Tensor stack_if(bool is_needed, const List& layers) {
    return is_needed ? at::stack(layers) : at::Tensor();
  }

  // Returns one gradient for each argument of forward(); undefined for the masks and the specification.
  static List in_order(const PassGradients& gradients, const Context& context, const PassContext& pass) {
    List hidden, cell;
    for (const InitialGradients& initial : gradients.initial) {
      hidden.push_back(initial.hidden);
      if (initial.cell.defined()) cell.push_back(initial.cell);
    }
    List list = {gradients.input, stack_if(context.needs_input_grad(1), hidden)};
    if (!cell.empty()) list.push_back(stack_if(context.needs_input_grad(2), cell));
    for (const WeightGradients& of_layer : gradients.weights)
      pass.spec.each_weight(of_layer, [&](const at::Tensor& gradient) { list.push_back(gradient); });
    if (gradients.weights.empty()) list.resize(list.size() + gradients.initial.size() * pass.spec.num_weights());
    list.resize(list.size() + pass.num_masks + 1);
    return list;
  }
};

// Runs a pass. Its results are differentiable once, with respect to the sequence, the initial states and the weights,
// but not the masks. Autocast is off inside.
template <class Pass>
UnrolledResult run_stack(const typename Pass::Spec& spec, const UnrolledInput& input) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  std::vector<at::Tensor> operands = {input.sequence, input.hidden};
  if (has_cell_state(spec.cell)) operands.push_back(input.cell);
  for (const DirectionWeights& layer : input.layers)
    spec.each_weight(layer, [&](const at::Tensor& weight) { operands.push_back(weight); });
  return split_states(spec.cell,
                      StackFunction<Pass>::apply(at::TensorList(operands), at::TensorList(input.masks), spec));
}

}  // namespace rnnlab
