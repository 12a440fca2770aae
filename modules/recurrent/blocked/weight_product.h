// The gradient of a weight: one product over all steps and sequences, summed up as they come.
#pragma once

#include <ATen/core/Tensor.h>

#include "recurrent/blocked/panel.h"
#include "recurrent/kernels/simd_steps.h"

namespace rnnlab {

// The sum over rows of left^T right, for (R, M) and (R, N) of a type that panel.h has, by all threads. Of both, `right`
// should be the narrower: it is the one that is transposed.
class WeightProduct {
 public:
  WeightProduct(int64_t num_left, int64_t num_right, int64_t most_rows, at::ScalarType type);

  // Adds the product of up to `most_rows` rows; both dense.
  void add(const at::Tensor& left, const at::Tensor& right);

  // (M, N), dense, in the type of the factors.
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
