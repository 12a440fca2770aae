// SPDX-License-Identifier: Apache-2.0
// The output layer of sequence and language models: a linear layer, computed in the way that is fastest for its size.
// One way is for many rows and a number of outputs that is not a multiple of 8, such as the 65 characters of a text.
// For such matrices cuBLAS has only kernels that load single numbers. A padded layer adds outputs whose weights are 0,
// so that cuBLAS takes faster kernels, and leaves them out of its result. Left out: a second derivative of own ways.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

namespace rnnlab {

// Returns linear(values, weight, bias), (..., C). On a GPU that the kernels of this build support, an output layer in
// float32 of at most 16 outputs is one kernel each way, for `values` (B, I) in float32, float16 or bfloat16 with B up
// to 1,024, I up to 4,096 and B * I * C up to 2^22. Its outputs are in float32 then, under autocast too, with products
// and sums in float32, deterministic, and not differentiable twice. Layers of many rows may be padded
// (padded_linear), with float32 outputs too. Others are LibTorch's, in its precision. So under autocast the rounding
// of an output may differ with the number of rows.
at::Tensor output_layer(const at::Tensor& values, const torch::nn::Linear& output);

// Returns whether padded_linear() is faster than LibTorch's linear layer: for large products with up to 1,024 outputs,
// on a GPU in 16 bits or in the TF32 class. values: (..., I), weight: (C, I).
bool gains_by_padding(const at::Tensor& values, const at::Tensor& weight);

// Returns linear(values, weight, bias), (..., C), in the type of the parameters. values: (..., I); weight: (C, I);
// bias: (C). If autocast is on, the operands of the products are rounded to its type, but unlike LibTorch's the outputs
// are not. The gradient of the values has their type.
at::Tensor padded_linear(const at::Tensor& values, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace rnnlab
