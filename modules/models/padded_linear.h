// SPDX-License-Identifier: Apache-2.0
// A linear layer for many rows, whose number of outputs is not a multiple of 8, such as the 65 characters of a text.
// For such matrices cuBLAS has only kernels that load single numbers. This layer adds outputs whose weights are 0, so
// that cuBLAS takes faster kernels, and leaves them out of its result. Left out: a second derivative.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// Returns whether padded_linear() is faster than LibTorch's linear layer: for large products with up to 1,024 outputs,
// on a GPU in 16 bits or in the TF32 class. values: (..., I), weight: (C, I).
bool gains_by_padding(const at::Tensor& values, const at::Tensor& weight);

// Returns linear(values, weight, bias), (..., C), in the type of the parameters. values: (..., I); weight: (C, I);
// bias: (C). If autocast is on, the operands of the products are rounded to its type, but unlike LibTorch's the outputs
// are not. The gradient of the values has their type.
at::Tensor padded_linear(const at::Tensor& values, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace rnnlab
