// SPDX-License-Identifier: Apache-2.0
// Implements `naive`: the plain loop over steps, with one small GEMM for every gate and side, and a separate operation
// for every point-wise operation. It is written for readers and as the baseline; nothing is grouped, hoisted or fused.
// It supports every cell and every option of cells.
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "layers/program/reverse_program.h"
#include "layers/stacked_layer.h"

namespace rnnlab {
namespace {

// Returns the new states if the sequence continues, and the old states if it has ended or, in reverse, not begun.
CellStates keep_ended(const at::Tensor& alive, CellStates next, const CellStates& states) {
  for (size_t i = 0; i < next.size(); ++i) next[i] = at::where(alive, next[i], states[i]);
  return next;
}

// Returns a result as it is, with a gradient of zeros for all weights in addition to theirs. Autograd finds none for a
// weight that the equations read through constant() alone, where other layers have zeros.
class ResultOfAllWeights : public torch::autograd::Function<ResultOfAllWeights> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& result,
                            at::TensorList weights) {
    context->save_for_backward(weights.vec());
    return result.view_as(result);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    for (const at::Tensor& weight : context->get_saved_variables()) gradients.push_back(at::zeros_like(weight));
    return gradients;
  }
};

bool has_weights_without_gradient(const CellProgram& program) {
  const ReverseProgram reverse = reverse_of(program);
  for (size_t gate = 0; gate < program.gates.size(); ++gate) {
    if (program.gates[gate].reads_input && reverse.input_sides[gate] == kNoNode) return true;
    if (program.gates[gate].reads_hidden && reverse.hidden_sides[gate] == kNoNode) return true;
  }
  return std::ranges::count(reverse.vectors, kNoNode) > 0;
}

class NaiveLayer : public StackedLayer {
 public:
  explicit NaiveLayer(const RecurrentOptions& options)
      : StackedLayer(options), has_weights_without_gradient_(has_weights_without_gradient(program_of(options))) {}
  LayerKind kind() const override { return LayerKind::kNaive; }

 private:
  DirectionResult run_direction(const DirectionInput& input, CellWeights weights) override;

  bool has_weights_without_gradient_;
};

DirectionResult NaiveLayer::run_direction(const DirectionInput& input, CellWeights weights) {
  const TensorProgram cell(program_of(options()), weights, options().hidden_size, options().heads);
  const std::vector<at::Tensor> inputs = input.sequence.unbind(0);
  const size_t num_steps = inputs.size();
  std::vector<std::vector<at::Tensor>> returned(input.states == StatesOf::kLastStep ? 1 : input.initial.size(),
                                                std::vector<at::Tensor>(num_steps));
  const bool has_starts = input.starts.defined();
  CellStates states = input.initial;
  for (size_t i = 0; i < num_steps; ++i) {
    const size_t t = input.direction == Direction::kForward ? i : num_steps - 1 - i;
    if (has_starts)
      for (at::Tensor& state : states) state = zero_where(input.starts[static_cast<int64_t>(t)], state);
    CellStates next = cell.step(inputs[t], states);
    // Under autocast the hidden state keeps the type of the products, and the other states stay float32.
    for (size_t k = 0; k < next.size(); ++k) next[k] = next[k].to(states[k].scalar_type());
    const at::Tensor alive = input.alive.defined() ? input.alive[static_cast<int64_t>(t)] : at::Tensor();
    states = alive.defined() ? keep_ended(alive, std::move(next), states) : std::move(next);
    for (size_t k = 0; k < returned.size(); ++k)
      returned[k][t] = alive.defined() ? at::where(alive, states[k], 0) : states[k];
  }
  CellStates all;
  for (const std::vector<at::Tensor>& steps : returned) all.push_back(at::stack(steps));
  DirectionResult result = {all.front(), states};
  if (input.states == StatesOf::kEveryStep) result.all = std::move(all);
  if (!has_weights_without_gradient_) return result;
  const auto of_all_weights = [&](at::Tensor& tensor) {
    tensor = ResultOfAllWeights::apply(tensor, at::TensorList(weights.data(), weights.size()));
  };
  of_all_weights(result.output);
  for (at::Tensor& state : result.final) of_all_weights(state);
  for (at::Tensor& states_of_steps : result.all) of_all_weights(states_of_steps);
  return result;
}

}  // namespace

const LayerInfo& naive_layer_info() {
  using enum RecurrentOption;
  static const LayerInfo info = {.description = "a plain loop over steps, two products a gate",
                                 .options = {kNumLayers, kBidirectional, kDropout, kHeads},
                                 .processors = {Processor::kCpu, Processor::kGpu},
                                 .features = {PassFeature::kStarts, PassFeature::kAllStates},
                                 .speed_rank = 1,
                                 .auto_use = AutoUse::kIfNoOther,
                                 .is_optimisation_step = true,
                                 .make = make_layer_of<NaiveLayer>,
                                 .why_not = [](const CellProgram&) { return std::string(); }};
  return info;
}

}  // namespace rnnlab
