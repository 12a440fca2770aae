// SPDX-License-Identifier: Apache-2.0
// Operations of the models: activations, the mean over steps and, with own kernels, the dense head, the first
// convolution with its pooling, and sums of parts.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

#include "layers/recurrent_options.h"

namespace rnnlab {

at::Tensor activate(Activation activation, const at::Tensor& x);

// Returns (B, D * H), the mean of (T, B, D * H) over each sequence's own steps. lengths: (B) on the CPU, or undefined.
at::Tensor mean_over_steps(const at::Tensor& outputs, const at::Tensor& lengths);

// Adds the rows of a dense (parts, n), the partial sums of kernels, in a fixed order and returns (n).
at::Tensor added_parts(const at::Tensor& parts);

// The functions below compute the dense end of a classifier on a GPU as one operation with a gradient, by own kernels:
// the last dense layer from its bias on, or all of it with the dropout of its values, and the output layer. The result
// is deterministic for a given state of the generator. The operation is not differentiable twice.

// Returns whether dense_head() supports these: float32 parameters on a GPU that its kernels support, few outputs.
bool can_run_dense_head(const at::Tensor& bias, const at::Tensor& weight);

// Returns linear(dropout(relu(products + bias)), weight, output_bias) in float32. products: (B, K) float32, float16 or
// bfloat16, to whose type the hidden values are rounded; bias: (K); weight: (C, K); output_bias: (C). `dropout` is the
// probability, with the GPU's default generator; 0 draws no numbers.
at::Tensor dense_head(const at::Tensor& products, const at::Tensor& bias, double dropout, const at::Tensor& weight,
                      const at::Tensor& output_bias);

// Probabilities, 0 for none: of the values before the dense layer, and of its hidden values.
struct EndDropout {
  double values = 0;
  double hidden = 0;
};

// Returns dense_head of the two layers for `values` after dropout, (B, I). They need can_run_dense_head. Small dense
// layers, of at most 64 units and 512 inputs, with at most 1,024 rows, are one kernel each way, which has the dense
// layer's product in float32. Others have the product of LibTorch, in its precision.
at::Tensor dense_end(const at::Tensor& values, const torch::nn::Linear& dense, const torch::nn::Linear& output,
                     const EndDropout& dropout);

// The functions below compute bias, ReLU and 2 x 2 max pooling as one operation with a gradient, by own kernels on the
// CPU and on a GPU, and on a GPU together with the first convolution of an image model. They are deterministic and
// support float64, float32, float16 and bfloat16. The results are channels last, for a following convolution, or
// contiguous, to be flattened.

// Returns whether bias_relu_pool() supports these values: on a CPU, or on a GPU that the kernels of this build support.
bool can_run_bias_relu_pool(const at::Tensor& values);

// Returns max_pool2d(relu(values + bias), 2): (B, C, H / 2, W / 2) in the type of the values. values: (B, C, H, W) with
// H and W at least 2; bias: (C), float64 for float64 and else float32. Throws UserError kUsage for 2^31 values or more.
at::Tensor bias_relu_pool(const at::Tensor& values, const at::Tensor& bias, at::MemoryFormat format);

// Returns whether first_convolution() supports these tensors: float32 on a GPU that the kernels of this build support,
// 5 x 5 weights for one channel, and short rows.
bool can_run_first_convolution(const at::Tensor& images, const at::Tensor& weight);

// Returns max_pool2d(relu(conv2d(images, weight, bias, padding="same")), 2), computed in float32 and returned in
// `type`, without a gradient of the images. images: (H, B, W), time-major as in Batch; weight: (C, 1, 5, 5); bias: (C).
at::Tensor first_convolution(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias,
                             at::ScalarType type, at::MemoryFormat format);

}  // namespace rnnlab
