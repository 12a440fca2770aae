#include "recurrent/unrolled/weight_gradients.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

namespace rnnlab {

WeightGradients empty_weight_gradients(const UnrolledSpec& spec, const LayerTrace& trace) {
  const DirectionWeights& weights = trace.weights;
  const at::Tensor bias_ih = at::empty_like(weights.bias_ih);
  const at::Tensor bias_hh = spec.cell == Cell::kGru ? at::empty_like(weights.bias_hh) : bias_ih;
  return {at::empty_like(weights.weight_ih), at::empty_like(weights.weight_hh), bias_ih, bias_hh};
}

void multiply_weight_gradients(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                               WeightGradients& weights) {
  const at::Tensor input_side = matrix_of(gradients.input_side);
  const at::Tensor recurrent_side = matrix_of(gradients.recurrent_side);
  const at::Tensor before = matrix_of(states_before(spec.direction, trace.hidden));
  at::mm_out(weights.weight_ih, input_side.t(), matrix_of(trace.input));
  at::mm_out(weights.weight_hh, recurrent_side.t(), before);
  at::sum_out(weights.bias_ih, input_side, 0);
  if (spec.cell == Cell::kGru) at::sum_out(weights.bias_hh, recurrent_side, 0);
}

}  // namespace rnnlab
