// SPDX-License-Identifier: Apache-2.0
// The output layer of sequence and language models: a linear layer, computed in the way that is fastest for its size.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

namespace rnnlab {

// Returns linear(values, weight, bias), (..., C). On a GPU that the kernels of this build support, an output layer in
// float32 of at most 16 outputs is one kernel each way, for `values` (B, I) in float32, float16 or bfloat16 with B up
// to 1,024, I up to 4,096 and B * I * C up to 2^22. Its outputs are in float32 then, under autocast too, with products
// and sums in float32, deterministic, and not differentiable twice. Layers of many rows may be padded
// (padded_linear.h), with float32 outputs too. Others are LibTorch's, in its precision. So under autocast the rounding
// of an output may differ with the number of rows.
at::Tensor output_layer(const at::Tensor& values, const torch::nn::Linear& output);

}  // namespace rnnlab
