// The dense end of a classifier on a GPU as one operation with a gradient, by own kernels: bias, ReLU and dropout of
// the last dense layer, and the output layer. Deterministic from a generator's state on. Not differentiable twice.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

namespace rnnlab {

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

}  // namespace rnnlab
