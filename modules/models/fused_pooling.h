// Bias, ReLU and 2 x 2 max pooling as one operation with a gradient, by own kernels on the CPU and on a GPU, and on a
// GPU the first convolution of an image model with them. Deterministic. float64, float32, float16 and bfloat16; the
// results may lie channels last, as the next convolution wants them, or contiguous, to be flattened.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// Whether bias_relu_pool() can take these: on a CPU, or a GPU that this build has code of its kernels for.
bool can_run_bias_relu_pool(const at::Tensor& values);

// max_pool2d(relu(values + bias), 2). values: (B, C, H, W) with H and W at least 2; bias: (C), float64 for float64 and
// else float32. Gives (B, C, H / 2, W / 2) in the type of the values. UserError kUsage for 2^31 values or
// more.
at::Tensor bias_relu_pool(const at::Tensor& values, const at::Tensor& bias, at::MemoryFormat format);

// Whether first_convolution() can take these: float32 on a GPU that this build has code
// of its kernels for, 5 x 5 weights for one channel, rows that are not long.
bool can_run_first_convolution(const at::Tensor& images, const at::Tensor& weight);

// max_pool2d(relu(conv2d(images, weight, bias, padding="same")), 2), computed in float32, given in `type`, without a
// gradient of the images. images: (H, B, W), time-major as in Batch; weight: (C, 1, 5, 5); bias: (C).
at::Tensor first_convolution(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias,
                             at::ScalarType type, at::MemoryFormat format);

}  // namespace rnnlab
