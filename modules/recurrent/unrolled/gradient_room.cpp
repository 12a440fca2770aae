#include "recurrent/unrolled/gradient_room.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace rnnlab {
namespace {

void make_room_for_sides(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients) {
  const bool has_two = spec.cell == Cell::kGru;
  if (has_two && spec.rung.one_kernel) {
    const int64_t hidden_size = trace.hidden_size(), gates = trace.gates.size(2);
    gradients.sides = at::empty({trace.num_steps(), trace.batch_size(), gates + hidden_size}, trace.gates.options());
    gradients.input_side = gradients.sides.narrow(2, hidden_size, gates);
    gradients.recurrent_side = gradients.sides.narrow(2, 0, gates);
    return;
  }
  gradients.input_side = at::empty_like(trace.gates);
  gradients.recurrent_side = has_two ? at::empty_like(trace.gates) : gradients.input_side;
  if (spec.rung.one_kernel) gradients.sides = gradients.input_side;
}

}  // namespace

std::vector<LayerGradients> empty_gradients(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                            const ResultGradients& results, Needs needs) {
  std::vector<LayerGradients> all(layers.size());
  for (size_t layer = layers.size(); layer-- > 0;) {
    const LayerTrace& trace = layers[layer];
    LayerGradients& gradients = all[layer];
    const bool is_top = layer + 1 == layers.size();
    gradients.output = is_top ? results.hidden[layer] : all[layer + 1].input;
    if (!results.cell.empty()) gradients.cell_output = results.cell[layer];
    make_room_for_sides(spec, trace, gradients);
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
