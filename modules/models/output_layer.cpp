// SPDX-License-Identifier: Apache-2.0
#include "models/output_layer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/kernels/output_layer.h"
#include "models/operations.h"
#include "models/padded_linear.h"
#include "recurrent/device/number_types.h"
#include "recurrent/device/run_kernels.h"

namespace rnnlab {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::OutputShape output_shape(const at::Tensor& values, const at::Tensor& weight) {
  return {.type = element_type(values.scalar_type()),
          .num_rows = static_cast<uint32_t>(values.size(0)),
          .num_inputs = static_cast<uint32_t>(values.size(1)),
          .num_outputs = static_cast<uint32_t>(weight.size(0))};
}

float* floats_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
}

class OutputLayer : public torch::autograd::Function<OutputLayer> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_values, const at::Tensor& given_weight,
                            const at::Tensor& bias) {
    const at::Tensor values = given_values.contiguous(), weight = given_weight.contiguous();
    const at::Tensor outputs = at::empty({values.size(0), weight.size(0)}, weight.options().requires_grad(false));
    run_kernels(kernels::OutputForward{.shape = output_shape(values, weight),
                                       .values = values.const_data_ptr(),
                                       .weight = weight.const_data_ptr<float>(),
                                       .bias = bias.contiguous().const_data_ptr<float>(),
                                       .outputs = outputs.mutable_data_ptr<float>()},
                values);
    context->save_for_backward({values, weight});
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &values = saved[0], &weight = saved[1];
    const at::Tensor output_gradient = gradients[0].contiguous();
    const auto empty_if_needed = [&](size_t input, at::IntArrayRef sizes, at::ScalarType type) {
      return context->needs_input_grad(input) ? at::empty(sizes, output_gradient.options().dtype(type)) : at::Tensor();
    };
    const at::Tensor of_values = empty_if_needed(0, values.sizes(), values.scalar_type());
    const at::Tensor of_weight = empty_if_needed(1, weight.sizes(), at::kFloat);
    const at::Tensor of_bias = empty_if_needed(2, {weight.size(0)}, at::kFloat);
    run_kernels(kernels::OutputBackward{.shape = output_shape(values, weight),
                                        .output_gradient = output_gradient.const_data_ptr<float>(),
                                        .values = values.const_data_ptr(),
                                        .weight = weight.const_data_ptr<float>(),
                                        .value_gradient = of_values.defined() ? of_values.mutable_data_ptr() : nullptr,
                                        .weight_gradient = floats_or_null(of_weight),
                                        .bias_gradient = floats_or_null(of_bias)},
                values);
    return {of_values, of_weight, of_bias};
  }
};

bool has_type_of_output_layer(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

bool can_run_output_layer(const at::Tensor& values, const at::Tensor& weight, const at::Tensor& bias) {
  if (values.dim() != 2 || !has_type_of_output_layer(values.scalar_type()) || !can_run_dense_head(bias, weight))
    return false;
  const int64_t num_rows = values.size(0), num_inputs = values.size(1);
  return num_rows > 0 && num_rows <= kernels::kMostRowsOfOutput && num_inputs <= kernels::kMostInputsOfOutput &&
         num_rows * num_inputs * weight.size(0) <= kernels::kMostProductsOfOutput;
}

}  // namespace

at::Tensor output_layer(const at::Tensor& values, const torch::nn::Linear& output) {
  if (can_run_output_layer(values, output->weight, output->bias))
    return OutputLayer::apply(values, output->weight, output->bias);
  if (gains_by_padding(values, output->weight)) return padded_linear(values, output->weight, output->bias);
  return at::linear(values, output->weight, output->bias);
}

}  // namespace rnnlab
