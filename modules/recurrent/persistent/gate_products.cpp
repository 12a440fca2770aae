#include "recurrent/persistent/gate_products.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
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
  return gradients_.input_side.scalar_type() == at::kFloat && gains_by_factors(needs);
}

bool GateProducts::gains_by_factors(Needs needs) const {
  return data_gains() || (needs.weights && (input_weights_gain() || recurrent_weights_gain()));
}

void GateProducts::prepare_gates(Needs needs) {
  if (!gains_by_factors(needs)) return;
  const at::Tensor sides = matrix_of(gradients_.sides);
  const Factor both = sides.scalar_type() == at::kFloat ? scaled_half(sides, gradients_.largest) : Factor{sides, {}};
  const auto side = [&](const at::Tensor& of) {
    return Factor{both.values.narrow(1, of.storage_offset() - sides.storage_offset(), of.size(2)), both.unscale};
  };
  input_side_ = side(gradients_.input_side);
  recurrent_side_ = side(gradients_.recurrent_side);
}

void GateProducts::multiply_data() const {
  const at::Tensor product = matrix_of(gradients_.input);
  if (data_gains())
    multiply_scaled(product, *input_side_, {trace_.weight_ih_factor, {}});
  else
    multiply_into(product, matrix_of(gradients_.input_side), trace_.weights.weight_ih);
}

void GateProducts::multiply_input_weights(WeightGradients& weights) const {
  if (!input_weights_gain()) return rnnlab::multiply_input_weights(trace_, gradients_, weights);
  const Factor input = {matrix_of(trace_.input_factor), trace_.input_unscale};
  const int64_t columns = weights.weight_ih.size(1);
  if (input.values.size(1) == columns) return multiply_scaled(weights.weight_ih, input_side_->t(), input);
  const at::Tensor whole = at::empty({weights.weight_ih.size(0), input.values.size(1)}, weights.weight_ih.options());
  multiply_scaled(whole, input_side_->t(), input);
  weights.weight_ih.copy_(whole.narrow(1, 0, columns));
}

void GateProducts::multiply_recurrent_weights(WeightGradients& weights) const {
  if (!gradients_.has_two_sides()) return multiply_recurrent_side(weights.weight_hh);
  const at::Tensor candidate_first = at::empty_like(weights.weight_hh);
  multiply_recurrent_side(candidate_first);
  const int64_t hidden_size = trace_.hidden_size();
  at::cat_out(weights.weight_hh,
              {candidate_first.narrow(0, hidden_size, 2 * hidden_size), candidate_first.narrow(0, 0, hidden_size)});
}

void GateProducts::multiply_recurrent_side(const at::Tensor& out) const {
  const auto before = [&](const at::Tensor& states) { return matrix_of(states_before(spec_.direction, states)); };
  if (recurrent_weights_gain())
    multiply_scaled(out, recurrent_side_->t(), {before(trace_.half_hidden), {}});
  else
    multiply_into(out, matrix_of(gradients_.recurrent_side).t(), before(trace_.hidden));
}

void GateProducts::sum_biases(WeightGradients& weights) const {
  const at::Tensor sums = gradients_.bias_sums.flatten(0, 1);
  sum_rows(weights.bias_ih, sums.select(1, 0));
  if (gradients_.has_two_sides())
    sum_rows(weights.bias_hh, sums.select(1, 1));
  else
    weights.bias_hh.copy_(weights.bias_ih);
}

// Columns that were filled up would have gradients that nothing asks for.
bool GateProducts::data_gains() const {
  return gradients_.input.defined() && trace_.weight_ih_factor.defined() &&
         trace_.weight_ih_factor.size(1) == trace_.weights.weight_ih.size(1);
}

bool GateProducts::input_weights_gain() const { return trace_.input_factor.defined(); }
bool GateProducts::recurrent_weights_gain() const { return trace_.half_hidden.defined(); }

}  // namespace rnnlab
