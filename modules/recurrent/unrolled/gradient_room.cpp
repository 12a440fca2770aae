#include "recurrent/unrolled/gradient_room.h"

#include <ATen/ops/empty_like.h>

namespace rnnlab {

std::vector<LayerGradients> empty_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                            const ResultGradients& results, Needs needs) {
  std::vector<LayerGradients> all(layers.size());
  for (size_t layer = layers.size(); layer-- > 0;) {
    const LayerTrace& trace = layers[layer];
    LayerGradients& gradients = all[layer];
    const bool is_top = layer + 1 == layers.size();
    gradients.output = is_top ? results.hidden[layer] : all[layer + 1].input;
    if (!results.cell.empty()) gradients.cell_output = results.cell[layer];
    gradients.input_side = at::empty_like(trace.gates);
    gradients.recurrent_side = spec.cell == Cell::kGru ? at::empty_like(trace.gates) : gradients.input_side;
    gradients.from_next_step = at::empty_like(trace.hidden[0]);
    if (layer > 0 || needs.input) gradients.input = at::empty_like(trace.input);
  }
  return all;
}

std::vector<WeightGradients> empty_weight_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                                    Needs needs) {
  std::vector<WeightGradients> all;
  if (!needs.weights) return all;
  for (const LayerTrace& trace : layers) all.push_back(empty_weight_gradients(spec, trace));
  return all;
}

}  // namespace rnnlab
