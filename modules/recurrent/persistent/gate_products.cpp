#include "recurrent/persistent/gate_products.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

namespace rnnlab {
namespace {

// In float32, whatever the result's type.
void sum_rows(at::Tensor& out, const at::Tensor& rows) {
  if (out.scalar_type() == rows.scalar_type())
    at::sum_out(out, rows, 0);
  else
    out.copy_(rows.sum(0));
}

}  // namespace

void GateProducts::prepare_input() {
  if (!input_weights_gain()) return;
  input_ =
      trace_.half_input.defined() ? Factor{matrix_of(trace_.half_input), {}} : scaled_half(matrix_of(trace_.input));
}

bool GateProducts::reads_largest(Needs needs) const {
  return (needs.weights && recurrent_weights_gain()) || (!has_two_sides() && reads_input_side(needs));
}

bool GateProducts::reads_input_side(Needs needs) const {
  return data_gains() || (needs.weights && input_weights_gain());
}

void GateProducts::prepare_gates(Needs needs) {
  const at::Tensor& largest = gradients_.largest;  // of the recurrent side
  const bool recurrent_gains = needs.weights && recurrent_weights_gain();
  if (reads_input_side(needs) || (recurrent_gains && !has_two_sides()))
    input_side_ = scaled_half(matrix_of(gradients_.input_side), has_two_sides() ? at::Tensor() : largest);
  if (recurrent_gains)
    recurrent_side_ = has_two_sides() ? scaled_half(matrix_of(gradients_.recurrent_side), largest) : input_side_;
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

void GateProducts::sum_biases(WeightGradients& weights) const {
  if (!gradients_.bias_sums.defined()) {
    sum_bias_gradients(spec_, gradients_, weights);
  } else {
    const at::Tensor sums = gradients_.bias_sums.flatten(0, 1);
    sum_rows(weights.bias_ih, sums.select(1, 0));
    if (has_two_sides()) sum_rows(weights.bias_hh, sums.select(1, 1));
  }
  if (!has_two_sides()) weights.bias_hh.copy_(weights.bias_ih);
}

bool GateProducts::data_gains() const {
  if (!gradients_.input.defined() || !trace_.half_weight_ih.defined()) return false;
  return gains_by_half(matrix_of(gradients_.input_side), trace_.weights.weight_ih);
}

bool GateProducts::input_weights_gain() const {
  if (trace_.tokens.defined()) return false;  // token_products.h
  return gains_by_half(matrix_of(gradients_.input_side).t(), matrix_of(trace_.input));
}

bool GateProducts::recurrent_weights_gain() const {
  if (!trace_.half_hidden.defined()) return false;
  return gains_by_half(matrix_of(gradients_.recurrent_side).t(),
                       matrix_of(states_before(spec_.direction, trace_.hidden)));
}

}  // namespace rnnlab
