// Operations of the models with own kernels: the dense head, the first convolution with its pooling, and sums of parts.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

namespace rnnlab {

// Sums that kernels leave in parts.

// The rows of a dense (parts, n) added up in a fixed order: (n).
at::Tensor added_parts(const at::Tensor& parts);

// The dense end of a classifier on a GPU as one operation with a gradient, by own kernels: bias, ReLU and dropout of
// the last dense layer, and the output layer. Deterministic from a generator's state on. Not differentiable twice.

// Whether dense_head() can take these: parameters in float32 on a GPU that its kernels are built for, few outputs.
bool can_run_dense_head(const at::Tensor& bias, const at::Tensor& weight);

// linear(dropout(relu(products + bias)), weight, output_bias) in float32. products: (B, K) float32, float16 or
// bfloat16, whose type the hidden values are rounded to; bias: (K); weight: (C, K); output_bias: (C). `dropout`: the
// probability, by the GPU's default generator; 0 draws nothing.
at::Tensor dense_head(const at::Tensor& products, const at::Tensor& bias, double dropout, const at::Tensor& weight,
                      const at::Tensor& output_bias);

// The same from what the dense layer reads, (B, I), by the two layers.
at::Tensor dense_end(const at::Tensor& values, const torch::nn::Linear& dense, double dropout,
                     const torch::nn::Linear& output);

// Bias, ReLU and 2 x 2 max pooling as one operation with a gradient, by own kernels on the CPU and on a GPU, and on a
// GPU the first convolution of an image model with them. Deterministic. float64, float32, float16 and bfloat16; the
// results may lie channels last, as the next convolution wants them, or contiguous, to be flattened.

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
