#include "recurrent/persistent/gate_products.h"

#include <ATen/ops/empty.h>
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

bool GateProducts::reads_largest(Needs needs) const {
  if (gradients_.input_side.scalar_type() != at::kFloat) return false;
  return reads_input_side(needs) || (needs.weights && recurrent_weights_gain());
}

bool GateProducts::reads_input_side(Needs needs) const {
  return data_gains() || (needs.weights && input_weights_gain());
}

Factor GateProducts::side_factor(const at::Tensor& side) const {
  if (side.scalar_type() != at::kFloat) return {matrix_of(side), {}};
  return scaled_half(matrix_of(side), gradients_.largest);
}

void GateProducts::prepare_gates(Needs needs) {
  const bool recurrent_gains = needs.weights && recurrent_weights_gain();
  if (reads_input_side(needs) || (recurrent_gains && !has_two_sides()))
    input_side_ = side_factor(gradients_.input_side);
  if (recurrent_gains) recurrent_side_ = has_two_sides() ? side_factor(gradients_.recurrent_side) : input_side_;
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
  const Factor input = {matrix_of(trace_.half_input), trace_.input_unscale};
  const int64_t columns = weights.weight_ih.size(1);
  if (input.values.size(1) == columns) return multiply_scaled(weights.weight_ih, input_side_->t(), input);
  const at::Tensor whole = at::empty({weights.weight_ih.size(0), input.values.size(1)}, weights.weight_ih.options());
  multiply_scaled(whole, input_side_->t(), input);
  weights.weight_ih.copy_(whole.narrow(1, 0, columns));
}

void GateProducts::multiply_recurrent_weights(WeightGradients& weights) const {
  if (!recurrent_weights_gain()) return rnnlab::multiply_recurrent_weights(spec_, trace_, gradients_, weights);
  multiply_scaled(weights.weight_hh, recurrent_side_->t(),
                  {matrix_of(states_before(spec_.direction, trace_.half_hidden)), {}});
}

void GateProducts::sum_biases(WeightGradients& weights) const {
  const at::Tensor sums = gradients_.bias_sums.flatten(0, 1);
  sum_rows(weights.bias_ih, sums.select(1, 0));
  if (has_two_sides())
    sum_rows(weights.bias_hh, sums.select(1, 1));
  else
    weights.bias_hh.copy_(weights.bias_ih);
}

bool GateProducts::data_gains() const {
  if (!gradients_.input.defined() || !trace_.half_weight_ih.defined()) return false;
  if (trace_.half_weight_ih.size(1) != trace_.weights.weight_ih.size(1)) return false;
  return gains_by_half(matrix_of(gradients_.input_side), trace_.weights.weight_ih);
}

bool GateProducts::input_weights_gain() const { return trace_.half_input.defined(); }

bool GateProducts::recurrent_weights_gain() const {
  if (!trace_.half_hidden.defined()) return false;
  return gains_by_half(matrix_of(gradients_.recurrent_side).t(),
                       matrix_of(states_before(spec_.direction, trace_.hidden)));
}

}  // namespace rnnlab
