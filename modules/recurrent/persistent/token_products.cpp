#include "recurrent/persistent/token_products.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>

#include "recurrent/token_rows.h"

namespace rnnlab {

void multiply_rows(LayerTrace& trace) {
  const at::Tensor of_rows = at::mm(trace.table, trace.weights.weight_ih.t());
  at::Tensor gates = matrix_of(trace.gates);
  at::index_select_out(gates, of_rows, 0, trace.tokens);
}

at::Tensor sums_of_tokens(const LayerTrace& trace, const LayerGradients& gradients,
                          const std::optional<Factor>& input_side) {
  const at::Tensor gates = matrix_of(gradients.input_side);
  const int64_t num_rows = trace.table.size(0);
  const auto places = [&](at::ScalarType type) {
    return places_of_tokens(trace.tokens, num_rows, gates.options().dtype(type));
  };
  if (!input_side && gates.scalar_type() == at::kFloat) return at::mm(places(at::kFloat), gates);
  if (!input_side) return at::mm(places(gates.scalar_type()), gates, at::kFloat);
  const at::Tensor sums = at::empty({num_rows, gates.size(1)}, gates.options());
  multiply_scaled(sums, {places(at::kHalf), {}}, *input_side);
  return sums;
}

void multiply_input_weights(const LayerTrace& trace, const at::Tensor& sums, WeightGradients& weights) {
  at::mm_out(weights.weight_ih, sums.t(), trace.table.to(at::kFloat));
}

void multiply_table(const LayerTrace& trace, const at::Tensor& sums, at::Tensor& gradient) {
  at::mm_out(gradient, sums, trace.weights.weight_ih.to(at::kFloat));
}

}  // namespace rnnlab
