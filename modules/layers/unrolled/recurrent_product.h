// SPDX-License-Identifier: Apache-2.0
// The products of hidden states with a layer's recurrent weights, forward and backward. A cell may divide its units
// into heads, whose states only units of the same head read, and then a product is one of each head. A cell none of
// whose gates reads the hidden state has no RecurrentProducts: all functions of theirs do nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "layers/program/step_code.h"

namespace rnnlab {

enum class FactorLayout { kAsTheyAre, kTransposed };  // cuBLAS is faster if the inner index is the fast one of weights

at::Tensor in_layout(const at::Tensor& weight, FactorLayout layout);

// One product, of all gates or of one.
class RecurrentProduct {
 public:
  // weight: (G * H, H / heads). `layout` is that of weights without heads, which are packed in any case.
  RecurrentProduct(const at::Tensor& weight, int64_t hidden_size, FactorLayout layout);

  // Computes W_hh h. out: (B, G * H); hidden: (B, H).
  void multiply(const at::Tensor& out, const at::Tensor& hidden) const;

  // Computes the gradient of h from that of W_hh h. out: (B, H); side: (B, G * H).
  void multiply_back(const at::Tensor& out, const at::Tensor& side) const;

 private:
  at::Tensor weight_;  // (G * H, H), or (heads, G * H / heads, H / heads)
  int64_t num_heads_ = 1;
};

// Computes out = left * right, in the type of `out`, which may be wider than the type of the factors.
void multiply_into(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right);

// The products of a step with one weight: those that read the hidden state, and those that read operands of their own
// (StepCode), which wait for the first.
class RecurrentProducts {
 public:
  RecurrentProducts(const StepCode& code, const at::Tensor& weight, int64_t hidden_size, FactorLayout layout);

  // Compute columns of W_hh h. out: (B, G * H); hidden: (B, H); operands: (B, operands * H).
  void multiply_hidden(const at::Tensor& out, const at::Tensor& hidden) const;
  void multiply_operands(const at::Tensor& out, const at::Tensor& operands) const;

  // Compute the gradients of the hidden state and of the operands. side: (B, G * H).
  void multiply_hidden_back(const at::Tensor& out, const at::Tensor& side) const;
  void multiply_operands_back(const at::Tensor& out, const at::Tensor& side) const;

  // Computes the gradient of the weight from those of all products. out: (G * H, H / heads), or undefined;
  // side: (N, G * H); hidden: (N, H); operands: (N, operands * H), or undefined.
  static void multiply_weight(const StepCode& code, const at::Tensor& out, const at::Tensor& side,
                              const at::Tensor& hidden, const at::Tensor& operands);

 private:
  // Neighbouring columns that read the hidden state, or one that reads an operand.
  struct Part {
    int64_t column, count;
    std::optional<int64_t> operand;
  };
  static std::vector<Part> parts_of(const StepCode& code);

  std::vector<Part> parts_;
  std::vector<RecurrentProduct> products_;  // by part
  int64_t hidden_size_;
};

}  // namespace rnnlab
