// SPDX-License-Identifier: Apache-2.0
#include "train/models/output_layer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include "layers/device/gpu_support.h"
#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"
#include "train/models/kernels/output_layer.h"
#include "train/models/kernels/padded_gradient.h"
#include "train/models/operations.h"

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

constexpr int64_t kVector = 8;  // numbers of 16 bits that a kernel loads at once

int64_t whole(int64_t size) { return (size + kVector - 1) / kVector * kVector; }

at::Tensor rows_of(const at::Tensor& values) { return values.reshape({-1, values.size(-1)}); }

// Returns left * right in the type `result`, which may be wider than the type of the factors.
at::Tensor product(const at::Tensor& left, const at::Tensor& right, at::ScalarType result) {
  return left.scalar_type() == result ? at::mm(left, right) : at::mm(left, right, result);
}

// Returns the matrix in another type, and with zeros after the last index of a dimension, up to whole vectors.
at::Tensor padded(const at::Tensor& matrix, int64_t dimension, at::ScalarType type) {
  const int64_t size = matrix.size(dimension);
  auto sizes = matrix.sizes().vec();
  sizes[static_cast<size_t>(dimension)] = whole(size);
  const at::Tensor result = at::empty(sizes, matrix.options().dtype(type).requires_grad(false));
  result.narrow(dimension, 0, size).copy_(matrix);
  result.narrow(dimension, size, whole(size) - size).zero_();
  return result;
}

struct PreparedGradient {
  at::Tensor padded;   // (N, whole columns)
  at::Tensor of_bias;  // (C)
};

// gradient: (N, C), of the outputs.
PreparedGradient prepared_gradient(const at::Tensor& gradient, at::ScalarType type) {
  const bool is_own =
      gradient.scalar_type() == at::kFloat && gradient.size(0) > 0 && has_own_kernels(gradient.device());
  if (!is_own) return {padded(gradient, 1, type), gradient.sum(0)};
  const at::Tensor rows = gradient.contiguous();
  const at::Tensor result = at::empty({rows.size(0), whole(rows.size(1))}, rows.options().dtype(type));
  const at::Tensor parts = at::empty({kernels::num_parts_of_sums(rows.size(0)), rows.size(1)}, rows.options());
  run_kernels(kernels::PaddedGradient{.gradient = rows.const_data_ptr<float>(),
                                      .num_rows = rows.size(0),
                                      .num_columns = static_cast<uint32_t>(rows.size(1)),
                                      .padded_columns = static_cast<uint32_t>(result.size(1)),
                                      .type = element_type(type),
                                      .padded = result.mutable_data_ptr(),
                                      .parts = parts.mutable_data_ptr<float>()},
              rows);
  return {result, added_parts(parts)};
}

class PaddedLinear : public torch::autograd::Function<PaddedLinear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, const at::Tensor& weight,
                            const at::Tensor& bias, at::ScalarType type) {
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor rows = rows_of(values).to(type), whole_weight = padded(weight, 0, type);
    const at::Tensor products = product(rows, whole_weight.t(), weight.scalar_type());
    context->save_for_backward({rows, whole_weight});
    context->saved_data["values"] = values.scalar_type();
    context->saved_data["parameters"] = weight.scalar_type();
    auto sizes = values.sizes().vec();
    sizes.back() = weight.size(0);
    return at::add(products.narrow(1, 0, weight.size(0)), bias).view(sizes);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &rows = saved[0], &whole_weight = saved[1];
    const int64_t num_outputs = gradients[0].size(-1);
    const PreparedGradient gradient = prepared_gradient(rows_of(gradients[0]), rows.scalar_type());
    variable_list results(4);
    if (context->needs_input_grad(0)) {
      auto sizes = gradients[0].sizes().vec();
      sizes.back() = rows.size(1);
      const at::ScalarType type = context->saved_data["values"].toScalarType();
      results[0] = at::mm(gradient.padded, whole_weight).to(type).view(sizes);
    }
    if (context->needs_input_grad(1)) {
      const at::ScalarType type = context->saved_data["parameters"].toScalarType();
      results[1] = product(gradient.padded.t(), rows, type).narrow(0, 0, num_outputs);
    }
    if (context->needs_input_grad(2)) results[2] = gradient.of_bias;
    return results;
  }
};

}  // namespace

bool gains_by_padding(const at::Tensor& values, const at::Tensor& weight) {
  constexpr double kLeastMultiplications = 1.5e8;  // about 8 us on an H200, without which the padding costs more
  constexpr int64_t kMostOutputs = 1024;           // because the outputs exist twice for a moment
  if (!values.is_cuda() || weight.scalar_type() != at::kFloat) return false;
  if (weight.size(0) % kVector == 0 || weight.size(0) > kMostOutputs) return false;
  const at::ScalarType type = type_of_products(values);
  const bool has_fast_kernels = type == at::kHalf || type == at::kBFloat16 || (type == at::kFloat && rounds_to_tf32());
  return has_fast_kernels && weight.size(1) % kVector == 0 &&
         static_cast<double>(values.numel()) * static_cast<double>(weight.size(0)) >= kLeastMultiplications;
}

at::Tensor padded_linear(const at::Tensor& values, const at::Tensor& weight, const at::Tensor& bias) {
  return PaddedLinear::apply(values, weight, bias, type_of_products(values));
}

at::Tensor output_layer(const at::Tensor& values, const torch::nn::Linear& output) {
  if (can_run_output_layer(values, output->weight, output->bias))
    return OutputLayer::apply(values, output->weight, output->bias);
  if (gains_by_padding(values, output->weight)) return padded_linear(values, output->weight, output->bias);
  return at::linear(values, output->weight, output->bias);
}

}  // namespace rnnlab
