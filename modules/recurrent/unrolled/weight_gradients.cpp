#include "recurrent/unrolled/weight_gradients.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

namespace rnnlab {
namespace {

void sum_rows(at::Tensor& out, const at::Tensor& matrix) {
  at::sum_out(out, matrix, 0, /*keepdim=*/false, out.scalar_type());
}

// The two sides of a GRU differ only in the candidate, so the sums of the reset and update gate are equal.
void sum_recurrent_bias(const at::Tensor& recurrent_side, WeightGradients& weights) {
  const int64_t hidden_size = recurrent_side.size(1) / 3;
  const auto part = [&](const at::Tensor& bias, int64_t first, int64_t size) {
    return bias.narrow(0, first * hidden_size, size * hidden_size);
  };
  part(weights.bias_hh, 0, 2).copy_(part(weights.bias_ih, 0, 2));
  at::Tensor candidate = part(weights.bias_hh, 2, 1);
  sum_rows(candidate, recurrent_side.narrow(1, 2 * hidden_size, hidden_size));
}

}  // namespace

void multiply_into(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right) {
  at::Tensor result = out;
  if (out.scalar_type() == left.scalar_type())
    at::mm_out(result, left, right);
  else
    at::mm_out(result, left, right, out.scalar_type());
}

WeightGradients empty_weight_gradients(const UnrolledSpec& spec, const LayerTrace& trace) {
  const DirectionWeights& weights = trace.weights;
  const auto room_for = [&](const at::Tensor& weight) {
    return at::empty_like(weight, weight.options().dtype(spec.parameter_type));
  };
  const at::Tensor bias_ih = room_for(weights.bias_ih);
  const at::Tensor bias_hh = has_two_sides(spec.cell) ? room_for(weights.bias_hh) : bias_ih;
  return {room_for(weights.weight_ih), room_for(weights.weight_hh), bias_ih, bias_hh};
}

void multiply_input_weights(const LayerTrace& trace, const LayerGradients& gradients, WeightGradients& weights) {
  multiply_into(weights.weight_ih, matrix_of(gradients.input_side).t(), matrix_of(trace.input));
}

void sum_bias_gradients(const UnrolledSpec& spec, const LayerGradients& gradients, WeightGradients& weights) {
  sum_rows(weights.bias_ih, matrix_of(gradients.input_side));
  if (has_two_sides(spec.cell)) sum_recurrent_bias(matrix_of(gradients.recurrent_side), weights);
}

void multiply_weight_gradients(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                               WeightGradients& weights) {
  multiply_input_weights(trace, gradients, weights);
  const at::Tensor before = matrix_of(states_before(spec.direction, trace.hidden));
  multiply_into(weights.weight_hh, matrix_of(gradients.recurrent_side).t(), before);
  sum_bias_gradients(spec, gradients, weights);
}

}  // namespace rnnlab
