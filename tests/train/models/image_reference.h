// SPDX-License-Identifier: Apache-2.0
// Computes the image classifier by the definitions of its parts, without convolution or pooling operators, as the
// reference of the tests. Differentiable, in the type of its inputs.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>

namespace rnnlab {

// images: (B, C, H, W); weight: (O, C, K, K); bias: (O). Zero padding that keeps the size.
at::Tensor reference_convolution(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias);

// Returns the largest of each 2 x 2 pixels.
at::Tensor reference_pool(const at::Tensor& values);

// Returns the logits for images (rows, B, columns) of a model with `num_convolutions` convolutions, one dense layer and
// ReLU, computed from the parameters of `model`.
at::Tensor reference_logits(const torch::nn::Module& model, int64_t num_convolutions, const at::Tensor& images);

}  // namespace rnnlab
