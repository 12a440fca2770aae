#include "recurrent/stacked_layer.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include "recurrent/dropout.h"

namespace rnnlab {
namespace {

at::Tensor alive_steps(const at::Tensor& lengths, int64_t num_steps, at::Device device) {
  if (!lengths.defined()) return {};
  return at::arange(num_steps).unsqueeze(1).lt(lengths.unsqueeze(0)).unsqueeze(2).to(device);
}

}  // namespace

RecurrentResult StackedLayer::run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) {
  const auto num_directions = static_cast<size_t>(options().num_directions());
  const auto num_layers = static_cast<size_t>(options().num_layers);
  const at::Tensor alive = alive_steps(lengths, input.size(0), input.device());
  const std::vector<at::Tensor> hidden = in_product_type(initial.hidden).unbind(0);
  const std::vector<at::Tensor> cell = initial.cell.defined() ? initial.cell.unbind(0) : std::vector<at::Tensor>{};

  at::Tensor sequence = in_product_type(input);
  std::vector<at::Tensor> final_hidden, final_cell;
  for (size_t layer = 0; layer < num_layers; ++layer) {
    std::vector<at::Tensor> outputs;
    for (size_t direction = 0; direction < num_directions; ++direction) {
      const size_t index = layer * num_directions + direction;
      const StepState start = {hidden[index], cell.empty() ? at::Tensor() : cell[index]};
      const auto way = direction == 0 ? Direction::kForward : Direction::kReverse;
      DirectionResult result = run_direction({sequence, start, alive, way}, direction_weights(weights(), index));
      outputs.push_back(result.output);
      final_hidden.push_back(result.final.hidden);
      if (!cell.empty()) final_cell.push_back(result.final.cell);
    }
    sequence = num_directions == 1 ? outputs.front() : at::cat(outputs, 2);
    if (layer + 1 < num_layers && options().dropout > 0 && is_training())
      sequence = dropped_out(sequence, options().dropout);
  }
  return {sequence, {at::stack(final_hidden), final_cell.empty() ? at::Tensor() : at::stack(final_cell)}};
}

}  // namespace rnnlab
