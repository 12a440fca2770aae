// Large products of float32 layers in the TF32 class, with factors of float16: it has TF32's mantissa, and tensor cores
// multiply it twice as fast. Numbers of any magnitude are scaled by a power of two that makes up for its smaller range
// (kernels/persistent/scaled_half.h); hidden states and weights are float16 in the kernels, too, and need none. And
// large products by what the bottom layer reads, whose columns may have any number: filled up with zeros to whole
// vectors in both classes, since cuBLAS takes four times as long for others in 16 bits.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

struct Factor {
  at::Tensor values;   // a matrix, float16, or of a 16-bit layer's type
  at::Tensor unscale;  // (2) float32: what a value is multiplied by to give the number, and 0; undefined: 1
  Factor t() const { return {values.t(), unscale}; }
};

// Whether the product of these two is the faster for it, and LibTorch allows TF32 there.
bool gains_by_half(const at::Tensor& left, const at::Tensor& right);

// The matrix must be dense, its size a multiple of 4. largest: the bits of its largest magnitude, (1) int32, or
// undefined: then the matrix is read twice.
Factor scaled_half(const at::Tensor& matrix, const at::Tensor& largest = {});

// Whether input * weight_ih^T and the product for the gradient of weight_ih are the faster for factors of their own: by
// float16 or by whole columns.
bool gains_by_input_factor(const at::Tensor& input, const at::Tensor& weight_ih);

// (rows, whole columns) of the input, where it gains, and of weight_ih: float16 where the input is float32, else of the
// input's type.
Factor input_factor(const at::Tensor& input);
at::Tensor empty_weight_factor(const at::Tensor& weight_ih);
void fill_weight_factor(const at::Tensor& weight_ih, const at::Tensor& factor);

// out = left * right, all with rows or columns that lie dense; `out` in float32 or in the type of factors that are not
// scaled.
void multiply_scaled(const at::Tensor& out, const Factor& left, const Factor& right);

}  // namespace rnnlab
