// Computes the gradient of a weight: one product over all steps and sequences, summed over several calls.
#pragma once

#include <ATen/core/Tensor.h>

#include "recurrent/blocked/panel.h"
#include "recurrent/kernels/simd_steps.h"

namespace rnnlab {

// Computes the sum over rows of left^T right, for (R, M) and (R, N) of a type that panel.h supports, with all threads.
// `right` should be the narrower of the two, because it is transposed.
class WeightProduct {
 public:
  WeightProduct(int64_t num_left, int64_t num_right, int64_t most_rows, at::ScalarType type);

  // Adds the product of up to `most_rows` rows; both matrices must be dense.
  void add(const at::Tensor& left, const at::Tensor& right);

  // Returns (M, N), dense, in the type of the factors.
  at::Tensor result() const;

 private:
  void transpose_rows(const at::Tensor& right);
  void multiply_rows(const at::Tensor& left);
  void multiply_part(const Panel& panel, int64_t column, const kernels::Range& rows);

  at::Tensor transposed_;  // (N, rows)
  at::Tensor sum_;         // (N, M)
  bool is_empty_ = true;
};

}  // namespace rnnlab
