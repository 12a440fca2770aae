// Large products of float32 layers in the TF32 class, with factors of float16: it has TF32's mantissa, and tensor cores
// multiply it twice as fast. Numbers of any magnitude are scaled by a power of two that makes up for its smaller range
// (kernels/persistent/scaled_half.h); hidden states and weights are float16 in the kernels, too, and need none.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

struct Factor {
  at::Tensor values;   // a matrix, float16
  at::Tensor unscale;  // (2) float32: what a value is multiplied by to give the number, and 0; undefined: 1
  Factor t() const { return {values.t(), unscale}; }
};

// Whether the product of these two is the faster for it, and LibTorch allows TF32 there.
bool gains_by_half(const at::Tensor& left, const at::Tensor& right);

// The matrix must be dense, its size a multiple of 4. largest: the bits of its largest magnitude, (1) int32, or
// undefined: then the matrix is read twice.
Factor scaled_half(const at::Tensor& matrix, const at::Tensor& largest = {});

// out = left * right, in float32, all with rows or columns that lie dense.
void multiply_scaled(const at::Tensor& out, const Factor& left, const Factor& right);

}  // namespace rnnlab
