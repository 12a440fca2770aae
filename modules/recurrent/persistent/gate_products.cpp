#include "recurrent/persistent/gate_products.h"

#include <ATen/ops/mm.h>

namespace rnnlab {

void GateProducts::prepare_input() {
  if (!input_weights_gain()) return;
  input_ =
      trace_.half_input.defined() ? Factor{matrix_of(trace_.half_input), {}} : scaled_half(matrix_of(trace_.input));
}

void GateProducts::prepare_gates(Needs needs) {
  const bool has_two_sides = !gradients_.recurrent_side.is_same(gradients_.input_side);
  const bool recurrent_gains = needs.weights && recurrent_weights_gain();
  const bool input_gains = data_gains() || (needs.weights && input_weights_gain());
  if (input_gains || (recurrent_gains && !has_two_sides)) input_side_ = scaled_half(matrix_of(gradients_.input_side));
  if (recurrent_gains)
    recurrent_side_ = has_two_sides ? scaled_half(matrix_of(gradients_.recurrent_side)) : input_side_;
}

void GateProducts::multiply_data() const {
  at::Tensor product = matrix_of(gradients_.input);
  if (data_gains())
    multiply_scaled(product, *input_side_, {trace_.half_weight_ih, {}});
  else
    at::mm_out(product, matrix_of(gradients_.input_side), trace_.weights.weight_ih);
}

void GateProducts::multiply_input_weights(WeightGradients& weights) const {
  if (!input_weights_gain()) return rnnlab::multiply_input_weights(trace_, gradients_, weights);
  multiply_scaled(weights.weight_ih, input_side_->t(), *input_);
}

void GateProducts::multiply_recurrent_weights(WeightGradients& weights) const {
  if (!recurrent_weights_gain()) return rnnlab::multiply_recurrent_weights(spec_, trace_, gradients_, weights);
  multiply_scaled(weights.weight_hh, recurrent_side_->t(),
                  {matrix_of(states_before(spec_.direction, trace_.half_hidden)), {}});
}

bool GateProducts::data_gains() const {
  if (!gradients_.input.defined() || !trace_.half_weight_ih.defined()) return false;
  return gains_by_half(matrix_of(gradients_.input_side), trace_.weights.weight_ih);
}

bool GateProducts::input_weights_gain() const {
  return gains_by_half(matrix_of(gradients_.input_side).t(), matrix_of(trace_.input));
}

bool GateProducts::recurrent_weights_gain() const {
  if (!trace_.half_hidden.defined()) return false;
  return gains_by_half(matrix_of(gradients_.recurrent_side).t(),
                       matrix_of(states_before(spec_.direction, trace_.hidden)));
}

}  // namespace rnnlab
