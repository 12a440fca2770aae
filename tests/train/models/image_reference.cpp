// SPDX-License-Identifier: Apache-2.0
#include "train/models/image_reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include <string>

namespace rnnlab {

at::Tensor reference_convolution(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias) {
  const int64_t kernel_size = weight.size(2), padding = kernel_size / 2;
  const at::Tensor padded = at::constant_pad_nd(images, {padding, padding, padding, padding});
  at::Tensor sum = bias.view({1, -1, 1, 1});
  for (int64_t y = 0; y < kernel_size; ++y)
    for (int64_t x = 0; x < kernel_size; ++x) {
      const at::Tensor seen = padded.narrow(2, y, images.size(2)).narrow(3, x, images.size(3));
      sum = sum + at::einsum("bchw,oc->bohw", {seen, weight.select(3, x).select(2, y)});
    }
  return sum;
}

at::Tensor reference_pool(const at::Tensor& values) {
  const int64_t rows = values.size(2) / 2, columns = values.size(3) / 2;
  const at::Tensor paired = values.narrow(2, 0, 2 * rows).narrow(3, 0, 2 * columns);
  return paired.reshape({values.size(0), values.size(1), rows, 2, columns, 2}).amax({3, 5});
}

at::Tensor reference_logits(const torch::nn::Module& model, int64_t num_convolutions, const at::Tensor& images) {
  const auto parameters = model.named_parameters();
  const auto layer = [&](const std::string& name, const auto& operation, const at::Tensor& values) {
    return operation(values, parameters[name + ".weight"], parameters[name + ".bias"]);
  };
  at::Tensor values = images.transpose(0, 1).unsqueeze(1);
  for (int64_t i = 0; i < num_convolutions; ++i) {
    values = at::relu(layer("convolution" + std::to_string(i), reference_convolution, values));
    const bool is_last_of_group = num_convolutions == 2 || i % 2 == 1;
    if (is_last_of_group) values = reference_pool(values);
  }
  const auto dense = [](const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) { return at::linear(x, w, b); };
  return layer("output", dense, at::relu(layer("dense0", dense, values.flatten(1))));
}

}  // namespace rnnlab
