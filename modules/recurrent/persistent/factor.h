// Large products of float32 layers in the TF32 class, with factors of float16: it has TF32's mantissa, and tensor cores
// multiply it twice as fast. A power of two for each factor makes up for its smaller range
// (kernels/persistent/scaled_half.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

struct Factor {
  at::Tensor values;   // a matrix, float16
  at::Tensor unscale;  // () float32: what a value is multiplied by to give the number
  Factor t() const { return {values.t(), unscale}; }
};

// Whether the product of these two is the faster for it, and LibTorch allows TF32 there.
bool gains_by_half(const at::Tensor& left, const at::Tensor& right);

// The matrix must be dense, its size a multiple of 4.
Factor scaled_half(const at::Tensor& matrix);

// out = left * right, in float32.
void multiply_scaled(at::Tensor& out, const Factor& left, const Factor& right);

}  // namespace rnnlab
