// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/recurrent_product.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>

#include <algorithm>

namespace rnnlab {
namespace {

// Returns (N, G * H) or (N, H) by heads: (heads, N, G * H / heads).
at::Tensor by_head(const at::Tensor& matrix, int64_t num_heads, int64_t hidden_size) {
  const int64_t rows = matrix.size(0), head_size = hidden_size / num_heads;
  return matrix.view({rows, -1, num_heads, head_size}).permute({2, 0, 1, 3}).reshape({num_heads, rows, -1});
}

at::Tensor columns(const at::Tensor& matrix, int64_t first, int64_t count, int64_t hidden_size) {
  if (count * hidden_size == matrix.size(1)) return matrix;
  return matrix.narrow(1, first * hidden_size, count * hidden_size);
}

// Does the reverse of by_head.
void copy_from_heads(const at::Tensor& out, const at::Tensor& heads, int64_t hidden_size) {
  const int64_t rows = out.size(0), num_heads = heads.size(0), head_size = hidden_size / num_heads;
  out.view({rows, -1, num_heads, head_size}).copy_(heads.view({num_heads, rows, -1, head_size}).permute({1, 2, 0, 3}));
}

}  // namespace

at::Tensor in_layout(const at::Tensor& weight, FactorLayout layout) {
  return layout == FactorLayout::kTransposed ? weight.t().contiguous().t() : weight;
}

RecurrentProduct::RecurrentProduct(const at::Tensor& weight, int64_t hidden_size, FactorLayout layout) {
  const int64_t head_size = weight.size(1);
  num_heads_ = hidden_size / head_size;
  if (num_heads_ > 1)
    weight_ = weight.view({-1, num_heads_, head_size, head_size}).transpose(0, 1).reshape({num_heads_, -1, head_size});
  else
    weight_ = in_layout(weight, layout);
}

void RecurrentProduct::multiply(const at::Tensor& out, const at::Tensor& hidden) const {
  at::Tensor result = out;
  if (num_heads_ == 1) {
    at::mm_out(result, hidden, weight_.t());
    return;
  }
  copy_from_heads(result, at::bmm(by_head(hidden, num_heads_, hidden.size(1)), weight_.transpose(1, 2)),
                  hidden.size(1));
}

void RecurrentProduct::multiply_back(const at::Tensor& out, const at::Tensor& side) const {
  at::Tensor result = out;
  if (num_heads_ == 1) {
    at::mm_out(result, side, weight_);
    return;
  }
  copy_from_heads(result, at::bmm(by_head(side, num_heads_, out.size(1)), weight_), out.size(1));
}

void multiply_into(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right) {
  at::Tensor result = out;
  if (out.scalar_type() == left.scalar_type())
    at::mm_out(result, left, right);
  else
    at::mm_out(result, left, right, out.scalar_type());
}

namespace {

// out: (rows, H / heads), of one part.
void multiply_weight_part(const at::Tensor& out, const at::Tensor& side, const at::Tensor& factor) {
  const int64_t hidden_size = factor.size(1), head_size = out.size(1), num_heads = hidden_size / head_size;
  if (num_heads == 1) return multiply_into(out, side.t(), factor);
  const auto heads_of = [&](const at::Tensor& matrix) {
    return by_head(matrix, num_heads, hidden_size).to(out.scalar_type());
  };
  const at::Tensor heads = at::bmm(heads_of(side).transpose(1, 2), heads_of(factor));
  out.view({-1, num_heads, head_size, head_size})
      .copy_(heads.view({num_heads, -1, head_size, head_size}).transpose(0, 1));
}

}  // namespace

RecurrentProducts::RecurrentProducts(const StepCode& code, const at::Tensor& weight, int64_t hidden_size,
                                     FactorLayout layout)
    : parts_(parts_of(code)), hidden_size_(hidden_size) {
  for (const Part& part : parts_)
    products_.emplace_back(weight.narrow(0, part.column * hidden_size, part.count * hidden_size), hidden_size, layout);
}

std::vector<RecurrentProducts::Part> RecurrentProducts::parts_of(const StepCode& code) {
  std::vector<Part> parts;
  for (int64_t column = 0; column < code.columns.hidden; ++column) {
    const auto found = std::ranges::find(code.operand_columns, column);
    if (found != code.operand_columns.end())
      parts.push_back({column, 1, found - code.operand_columns.begin()});
    else if (!parts.empty() && !parts.back().operand)
      parts.back().count += 1;
    else
      parts.push_back({column, 1, std::nullopt});
  }
  return parts;
}

void RecurrentProducts::multiply_hidden(const at::Tensor& out, const at::Tensor& hidden) const {
  for (size_t i = 0; i < parts_.size(); ++i)
    if (!parts_[i].operand)
      products_[i].multiply(columns(out, parts_[i].column, parts_[i].count, hidden_size_), hidden);
}

void RecurrentProducts::multiply_operands(const at::Tensor& out, const at::Tensor& operands) const {
  for (size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i].operand)
      products_[i].multiply(columns(out, parts_[i].column, 1, hidden_size_),
                            columns(operands, *parts_[i].operand, 1, hidden_size_));
}

void RecurrentProducts::multiply_hidden_back(const at::Tensor& out, const at::Tensor& side) const {
  if (parts_.empty()) return;
  bool is_first = true;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].operand) continue;
    const at::Tensor sum = is_first ? out : at::empty_like(out);
    products_[i].multiply_back(sum, columns(side, parts_[i].column, parts_[i].count, hidden_size_));
    if (!is_first) out.add_(sum);
    is_first = false;
  }
  if (is_first) out.zero_();
}

void RecurrentProducts::multiply_operands_back(const at::Tensor& out, const at::Tensor& side) const {
  for (size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i].operand)
      products_[i].multiply_back(columns(out, *parts_[i].operand, 1, hidden_size_),
                                 columns(side, parts_[i].column, 1, hidden_size_));
}

void RecurrentProducts::multiply_weight(const StepCode& code, const at::Tensor& out, const at::Tensor& side,
                                        const at::Tensor& hidden, const at::Tensor& operands) {
  const int64_t size = hidden.size(1);
  if (!out.defined()) return;
  for (const Part& part : parts_of(code))
    multiply_weight_part(out.narrow(0, part.column * size, part.count * size),
                         columns(side, part.column, part.count, size),
                         part.operand ? columns(operands, *part.operand, 1, size) : hidden);
}

}  // namespace rnnlab
