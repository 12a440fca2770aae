// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/slstm_layer.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/error.h"
#include "layers/cuda_functions.h"
#include "layers/execution_path.h"
#include "layers/persistent/persistent_stack.h"

namespace rnnlab {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Returns the hidden states after each step, (T, B, H), and the other states after the last step, (3, B, H). sums: (T,
// B, 4 * H), whose memory is used for the gates; their own backward pass must not read them.
class SlstmFunction : public torch::autograd::Function<SlstmFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& sums, const at::Tensor& weight_hh,
                               const at::Tensor& initial_hidden, const at::Tensor& initial_states,
                               Direction direction) {
    SlstmTrace trace = {
        .direction = direction, .num_heads = weight_hh.size(0), .weight_hh = weight_hh, .gates = sums.detach()};
    report_path([&] { return persistent_pass().slstm_path(trace); });
    persistent_pass().run_slstm_forward(trace, initial_hidden, initial_states);
    context->save_for_backward({trace.weight_hh, trace.gates, trace.slopes, trace.hidden, trace.states});
    context->saved_data["direction"] = static_cast<int64_t>(direction);
    context->set_materialize_grads(false);
    return {states_after(direction, trace.hidden), trace.states.select(1, final_row(direction, sums.size(0)))};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const SlstmTrace trace = {.direction = static_cast<Direction>(context->saved_data["direction"].toInt()),
                              .num_heads = saved[0].size(0),
                              .weight_hh = saved[0],
                              .gates = saved[1],
                              .slopes = saved[2],
                              .hidden = saved[3],
                              .states = saved[4]};
    const auto dense = [](const at::Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : tensor; };
    const SlstmGradients result = persistent_pass().run_slstm_backward(trace, dense(gradients[0]), dense(gradients[1]));
    return {result.gates, result.weight_hh, result.initial_hidden, result.initial_states, {}};
  }
};

// Brings rows (4, heads, D) into the order of the kernels, (heads, 4, D).
at::Tensor by_head(const at::Tensor& parameter, int64_t num_heads) {
  std::vector<int64_t> shape = parameter.sizes().vec();
  const std::vector<int64_t> result = shape;
  shape[0] /= 4 * num_heads;
  shape.insert(shape.begin(), {4, num_heads});
  return parameter.view(shape).transpose(0, 1).reshape(result);
}

// Beyond a sequence's length the input gate is 0 and the forget gate is 1, so its state does not change. alive: (T, B,
// 1), or undefined.
at::Tensor without_dead_steps(const at::Tensor& sums, const at::Tensor& alive, int64_t num_heads) {
  if (!alive.defined()) return sums;
  constexpr double kLarge = 6e4;  // within the range of float16
  const at::Tensor dead = at::tensor({-kLarge, kLarge, 0.0, 0.0}, sums.options().dtype(at::kDouble).device(at::kCPU))
                              .to(sums.options())
                              .unsqueeze(1);
  const at::Tensor by_gate = sums.view({sums.size(0), sums.size(1), num_heads, 4, -1});
  return at::where(alive.unsqueeze(3).unsqueeze(4), by_gate, dead).view(sums.sizes());
}

}  // namespace

DirectionResult PersistentSlstm::run_direction(const DirectionInput& input, CellWeights weights) {
  RNNLAB_INVARIANT(!input.starts.defined(), "the kernels of sLSTM do not support starts");
  const int64_t num_heads = options().heads, head_size = options().hidden_size / num_heads;
  require_persistent_on_gpu(input.sequence.device(), input.sequence.scalar_type(), options());
  const SequenceEnds ends(input.lengths, input.sequence.size(0), input.sequence.device());
  // A sequence that ends early is read in reverse from its own last step, so a reversed copy of it runs forward.
  const bool runs_reversed_copy = input.direction == Direction::kReverse && !ends.all_whole();
  const Direction loop = runs_reversed_copy ? Direction::kForward : input.direction;

  const at::Tensor products =
      at::linear(input.sequence, by_head(weights[0], num_heads), by_head(weights[2], num_heads)).contiguous();
  const at::Tensor sums =
      without_dead_steps(runs_reversed_copy ? ends.reversed(products) : products, input.alive, num_heads);
  const at::Tensor weight_hh = by_head(weights[1], num_heads).view({num_heads, 4 * head_size, head_size});
  const CellStates& initial = input.initial;
  const at::Tensor states = at::stack({initial[1], initial[2], initial[3]});
  const variable_list results = SlstmFunction::apply(sums, weight_hh, initial[0].to(sums.scalar_type()).contiguous(),
                                                     states.to(at::kFloat), loop);
  const at::Tensor hidden = loop == Direction::kForward ? ends.last(results[0]) : results[0][0];
  const at::Tensor last = results[1].to(initial[1].scalar_type());
  const at::Tensor output = ends.cleared(runs_reversed_copy ? ends.reversed(results[0]) : results[0]);
  return {output, {hidden, last[0], last[1], last[2]}};
}

}  // namespace rnnlab
