#include "recurrent/token_rows.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "recurrent/parameters.h"

namespace rnnlab {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kNoPadding = -1;

at::Tensor table_gradient(const at::Tensor& gradient, const at::Tensor& tokens, int64_t num_rows) {
  if (!gains_by_places(num_rows, tokens.numel()))
    return at::embedding_dense_backward(gradient.to(at::kFloat), tokens, num_rows, kNoPadding,
                                        /*scale_grad_by_freq=*/false);
  const at::Tensor rows = gradient.reshape({-1, gradient.size(-1)});
  const at::Tensor places = places_of_tokens(tokens, num_rows, rows.options());
  return rows.scalar_type() == at::kFloat ? at::mm(places, rows) : at::mm(places, rows, at::kFloat);
}

class RowsOfTokens : public torch::autograd::Function<RowsOfTokens> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& table, const at::Tensor& tokens,
                            at::ScalarType type) {
    context->save_for_backward({tokens});
    context->saved_data["num_rows"] = table.size(0);
    return at::embedding(table.to(type), tokens);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor tokens = context->get_saved_variables()[0];
    return {table_gradient(gradients[0], tokens, context->saved_data["num_rows"].toInt()), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool gains_by_places(int64_t num_rows, int64_t num_tokens) {
  constexpr int64_t kMostRows = 1024;
  constexpr int64_t kMostPlaces = 1 << 26;
  return num_rows <= std::min(num_tokens, kMostRows) && num_rows * num_tokens <= kMostPlaces;
}

at::Tensor places_of_tokens(const at::Tensor& tokens, int64_t num_rows, const at::TensorOptions& options) {
  const at::Tensor flat = tokens.reshape({1, -1});
  return at::zeros({num_rows, flat.size(1)}, options).scatter_(0, flat, 1);
}

at::Tensor embedding_lookup(const at::Tensor& table, const at::Tensor& tokens) {
  if (!table.is_cuda() || table.scalar_type() != at::kFloat) return at::embedding(table, tokens);
  return RowsOfTokens::apply(table, tokens, product_type(table));
}

}  // namespace rnnlab
