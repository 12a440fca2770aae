// SPDX-License-Identifier: Apache-2.0
#include "train/models/operations.h"

#include <ATen/Parallel.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "layers/device/gpu_support.h"
#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"
#include "train/models/cuda_functions.h"
#include "train/models/kernels/dense_end.h"
#include "train/models/kernels/dense_head.h"
#include "train/models/kernels/first_convolution.h"
#include "train/models/kernels/pooling.h"

namespace rnnlab {

at::Tensor activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::kTanh:
      return at::tanh(x);
    case Activation::kRelu:
      return at::relu(x);
  }
  fail_invariant("a listed activation", __FILE__, __LINE__, "activate does not know the activation");
}

at::Tensor mean_over_steps(const at::Tensor& outputs, const at::Tensor& lengths) {
  if (!lengths.defined()) return outputs.mean(0);
  // The counts are in float32, because bfloat16 cannot represent 257.
  const auto counts = lengths.to(outputs.device(), at::kFloat, /*non_blocking=*/true).unsqueeze(1);
  const bool narrow = outputs.scalar_type() == at::kBFloat16;
  // The outputs beyond each length are zero.
  const auto sums = narrow ? outputs.sum(0, /*keepdim=*/false, at::kFloat) : outputs.sum(0);
  return (sums / counts).to(outputs.scalar_type());
}

at::Tensor added_parts(const at::Tensor& parts) {
  if (parts.size(0) == 1) return parts[0];
  if (parts.scalar_type() != at::kFloat || !has_own_kernels(parts.device())) return parts.sum(0);
  const at::Tensor sums = at::empty({parts.size(1)}, parts.options());
  run_kernels(kernels::AddParts{.parts = parts.const_data_ptr<float>(),
                                .num_parts = static_cast<uint32_t>(parts.size(0)),
                                .size = static_cast<uint32_t>(parts.size(1)),
                                .sums = sums.mutable_data_ptr<float>()},
              parts);
  return sums;
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::HeadShape head_shape(const at::Tensor& hidden, const at::Tensor& weight) {
  return {.type = element_type(hidden.scalar_type()),
          .num_rows = static_cast<uint32_t>(hidden.size(0)),
          .num_columns = static_cast<uint32_t>(hidden.size(1)),
          .num_outputs = static_cast<uint32_t>(weight.size(0))};
}

kernels::RandomStart random_start(double dropout, c10::Device device) {
  return dropout > 0.0 ? take_random_numbers(device) : kernels::RandomStart();
}

class DenseHead : public torch::autograd::Function<DenseHead> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_products, const at::Tensor& bias,
                            double dropout, const at::Tensor& given_weight, const at::Tensor& output_bias) {
    const at::Tensor products = given_products.contiguous(), weight = given_weight.contiguous();
    const at::Tensor hidden = at::empty_like(products);
    const at::Tensor outputs = at::empty({products.size(0), weight.size(0)}, weight.options().requires_grad(false));
    const auto random = random_start(dropout, products.device());
    run_kernels(kernels::HeadForward{.shape = head_shape(hidden, weight),
                                     .products = products.const_data_ptr(),
                                     .bias = bias.contiguous().const_data_ptr<float>(),
                                     .dropout = static_cast<float>(dropout),
                                     .random = random,
                                     .hidden = hidden.mutable_data_ptr(),
                                     .weight = weight.const_data_ptr<float>(),
                                     .output_bias = output_bias.contiguous().const_data_ptr<float>(),
                                     .outputs = outputs.mutable_data_ptr<float>()},
                products);
    context->save_for_backward({hidden, weight});
    context->saved_data["dropout"] = dropout;
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &hidden = saved[0], &weight = saved[1];
    const at::Tensor output_gradient = gradients[0].contiguous();
    const auto shape = head_shape(hidden, weight);
    const at::Tensor product_gradient = at::empty_like(hidden);
    const at::Tensor parts =
        at::empty({kernels::num_head_parts(shape.num_rows), kernels::num_head_sums(shape)}, output_gradient.options());
    run_kernels(kernels::HeadBackward{.shape = shape,
                                      .output_gradient = output_gradient.const_data_ptr<float>(),
                                      .hidden = hidden.const_data_ptr(),
                                      .weight = weight.const_data_ptr<float>(),
                                      .dropout = static_cast<float>(context->saved_data["dropout"].toDouble()),
                                      .product_gradient = product_gradient.mutable_data_ptr(),
                                      .parts = parts.mutable_data_ptr<float>()},
                hidden);
    const at::Tensor sums = added_parts(parts);
    return {product_gradient, sums.narrow(0, weight.numel(), weight.size(1)), at::Tensor(),
            sums.narrow(0, 0, weight.numel()).view(weight.sizes()),
            sums.narrow(0, weight.numel() + weight.size(1), weight.size(0))};
  }
};

}  // namespace

bool can_run_dense_head(const at::Tensor& bias, const at::Tensor& weight) {
  const bool is_float = bias.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat;
  return is_float && weight.size(0) <= kernels::kMostOutputs && has_own_kernels(weight.device());
}

at::Tensor dense_head(const at::Tensor& products, const at::Tensor& bias, double dropout, const at::Tensor& weight,
                      const at::Tensor& output_bias) {
  return DenseHead::apply(products, bias, dropout, weight, output_bias);
}

namespace {

kernels::EndShape end_shape(const at::Tensor& values, const at::Tensor& dense_weight, const at::Tensor& weight) {
  return {.type = element_type(values.scalar_type()),
          .num_rows = static_cast<uint32_t>(values.size(0)),
          .num_inputs = static_cast<uint32_t>(values.size(1)),
          .num_columns = static_cast<uint32_t>(dense_weight.size(0)),
          .num_outputs = static_cast<uint32_t>(weight.size(0))};
}

// The whole dense end of a classifier whose dense layer is small.
class DenseEnd : public torch::autograd::Function<DenseEnd> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_values, double value_dropout,
                            const at::Tensor& given_dense_weight, const at::Tensor& dense_bias, double dropout,
                            const at::Tensor& given_weight, const at::Tensor& output_bias) {
    const at::Tensor values = given_values.contiguous();
    const at::Tensor dense_weight = given_dense_weight.contiguous(), weight = given_weight.contiguous();
    const auto options = weight.options().requires_grad(false);
    const at::Tensor hidden = at::empty({values.size(0), dense_weight.size(0)}, options);
    const at::Tensor outputs = at::empty({values.size(0), weight.size(0)}, options);
    const at::Tensor is_kept = value_dropout > 0.0 ? at::empty(values.sizes(), options.dtype(at::kBool)) : at::Tensor();
    run_kernels(kernels::DenseEndForward{.shape = end_shape(values, dense_weight, weight),
                                         .values = values.const_data_ptr(),
                                         .input_dropout = static_cast<float>(value_dropout),
                                         .input_random = random_start(value_dropout, values.device()),
                                         .is_kept = is_kept.defined() ? is_kept.mutable_data_ptr<bool>() : nullptr,
                                         .dense_weight = dense_weight.const_data_ptr<float>(),
                                         .dense_bias = dense_bias.contiguous().const_data_ptr<float>(),
                                         .dropout = static_cast<float>(dropout),
                                         .random = random_start(dropout, values.device()),
                                         .hidden = hidden.mutable_data_ptr<float>(),
                                         .weight = weight.const_data_ptr<float>(),
                                         .output_bias = output_bias.contiguous().const_data_ptr<float>(),
                                         .outputs = outputs.mutable_data_ptr<float>()},
                values);
    context->save_for_backward({values, is_kept, dense_weight, hidden, weight});
    context->saved_data["value_dropout"] = value_dropout;
    context->saved_data["dropout"] = dropout;
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &values = saved[0], &is_kept = saved[1], &dense_weight = saved[2], &weight = saved[4];
    const at::Tensor output_gradient = gradients[0].contiguous();
    const auto shape = end_shape(values, dense_weight, weight);
    const at::Tensor value_gradient = at::empty_like(values);
    const at::Tensor parts =
        at::empty({kernels::num_end_parts(shape.num_rows), kernels::num_end_sums(shape)}, output_gradient.options());
    run_kernels(
        kernels::DenseEndBackward{.shape = shape,
                                  .output_gradient = output_gradient.const_data_ptr<float>(),
                                  .values = values.const_data_ptr(),
                                  .input_dropout = static_cast<float>(context->saved_data["value_dropout"].toDouble()),
                                  .is_kept = is_kept.defined() ? is_kept.const_data_ptr<bool>() : nullptr,
                                  .dense_weight = dense_weight.const_data_ptr<float>(),
                                  .dropout = static_cast<float>(context->saved_data["dropout"].toDouble()),
                                  .hidden = saved[3].const_data_ptr<float>(),
                                  .weight = weight.const_data_ptr<float>(),
                                  .value_gradient = value_gradient.mutable_data_ptr(),
                                  .parts = parts.mutable_data_ptr<float>()},
        values);
    const at::Tensor sums = added_parts(parts);
    int64_t first = 0;
    const auto next = [&](at::IntArrayRef sizes) {
      const int64_t count = c10::multiply_integers(sizes);
      return sums.narrow(0, std::exchange(first, first + count), count).view(sizes);
    };
    const at::Tensor of_dense_weight = next(dense_weight.sizes()), of_dense_bias = next({dense_weight.size(0)});
    const at::Tensor of_weight = next(weight.sizes()), of_output_bias = next({weight.size(0)});
    return {value_gradient, at::Tensor(), of_dense_weight, of_dense_bias, at::Tensor(), of_weight, of_output_bias};
  }
};

bool is_small(const at::Tensor& values, const at::Tensor& dense_weight) {
  return values.size(0) > 0 && values.size(0) <= kernels::kMostRowsOfEnd &&
         values.size(1) <= kernels::kMostInputsOfEnd && dense_weight.size(0) <= kernels::kMostColumnsOfEnd;
}

}  // namespace

at::Tensor dense_end(const at::Tensor& values, const torch::nn::Linear& dense, const torch::nn::Linear& output,
                     const EndDropout& dropout) {
  if (is_small(values, dense->weight))
    return DenseEnd::apply(values, dropout.values, dense->weight, dense->bias, dropout.hidden, output->weight,
                           output->bias);
  const at::Tensor kept = dropout.values > 0.0 ? at::dropout(values, dropout.values, /*train=*/true) : values;
  return dense_head(at::mm(kept, dense->weight.t()), dense->bias, dropout.hidden, output->weight, output->bias);
}

namespace {

constexpr int64_t kMostParts = 256;  // parts of a sum on a GPU

at::ScalarType accumulator_of(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

// The kernels use 32-bit indices. `sizes` is as in pool_shape.
void require_countable(at::IntArrayRef sizes) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t of_image = sizes[1] * sizes[2] * sizes[3];
  if (of_image <= kMost && sizes[0] <= kMost / of_image) return;
  throw_error(ExitCode::kUsage,
              "training.batch_size: {} images of {} numbers after a convolution are too many for convolution: fused "
              "and fused_pool (limit {}); use at most {}, or convolution: channels_last",
              sizes[0], of_image, kMost, kMost / of_image);
}

// `sizes` is (B, C, H, W) before pooling.
kernels::PoolShape pool_shape(at::ScalarType type, at::IntArrayRef sizes) {
  return {element_type(type), static_cast<uint32_t>(sizes[0]), static_cast<uint32_t>(sizes[1]),
          static_cast<uint32_t>(sizes[2]), static_cast<uint32_t>(sizes[3])};
}

std::vector<int64_t> pooled_sizes(at::IntArrayRef sizes) { return {sizes[0], sizes[1], sizes[2] / 2, sizes[3] / 2}; }

// Returns the strides of the pooled tensor for a tensor (B, C, H, W) before pooling. They are computed from the sizes,
// because tensors have arbitrary strides in dimensions of size 1.
kernels::PooledStrides strides_for(at::IntArrayRef sizes, at::MemoryFormat format) {
  const int64_t pixels = (sizes[2] / 2) * (sizes[3] / 2);
  const int64_t image = pixels * sizes[1];
  if (format == at::MemoryFormat::ChannelsLast) return {.image = image, .channel = 1, .pixel = sizes[1]};
  return {.image = image, .channel = pixels, .pixel = 1};
}

// Returns (B, h, w, C): the index of the chosen one of four values.
at::Tensor empty_choices(at::IntArrayRef sizes, const at::TensorOptions& options) {
  return at::empty({sizes[0], sizes[2] / 2, sizes[3] / 2, sizes[1]}, options.dtype(at::kByte));
}

void run_pool(const kernels::PoolForward& work, int64_t num_pixels, const at::Tensor& values) {
  if (values.is_cuda()) return run_kernels(work, values);
  constexpr int64_t kPixelsPerThread = 64;  // fewest pixels for which starting a thread is worthwhile
  at::parallel_for(0, num_pixels, kPixelsPerThread, [&](int64_t first, int64_t last) {
    kernels::run(work, kernels::Range{static_cast<uint32_t>(first), static_cast<uint32_t>(last)});
  });
}

void run_pool(const kernels::PoolBackward& work, const at::Tensor& gradient) {
  if (gradient.is_cuda()) return run_kernels(work, gradient);
  at::parallel_for(0, work.num_parts, 1, [&](int64_t first, int64_t last) {
    kernels::run(work, kernels::Range{static_cast<uint32_t>(first), static_cast<uint32_t>(last)});
  });
}

// Returns a gradient of the values before pooling. No kernel writes rows and columns without a partner: they are zero.
at::Tensor make_gradient(at::IntArrayRef sizes, const at::TensorOptions& options) {
  const auto channels_last = options.memory_format(at::MemoryFormat::ChannelsLast);
  const bool is_even = sizes[2] % 2 == 0 && sizes[3] % 2 == 0;
  const at::Tensor gradient = at::empty(sizes, channels_last);
  return is_even ? gradient : at::Tensor(gradient).zero_();
}

class BiasReluPool : public torch::autograd::Function<BiasReluPool> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, const at::Tensor& bias,
                            int64_t format_number) {
    const auto format = static_cast<at::MemoryFormat>(format_number);
    const auto sizes = values.sizes().vec();
    const at::Tensor dense = values.contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor dense_bias = bias.to(accumulator_of(values.scalar_type())).contiguous();
    const at::Tensor pooled = at::empty(pooled_sizes(sizes), values.options().memory_format(format));
    const at::Tensor choices = empty_choices(sizes, values.options());
    run_pool({.shape = pool_shape(values.scalar_type(), sizes),
              .values = dense.const_data_ptr(),
              .bias = dense_bias.const_data_ptr(),
              .pooled = pooled.mutable_data_ptr(),
              .strides = strides_for(sizes, format),
              .choices = choices.mutable_data_ptr<uint8_t>()},
             choices.numel() / sizes[1], values);
    context->save_for_backward({choices});
    context->saved_data["sizes"] = sizes;
    context->saved_data["format"] = format_number;
    context->saved_data["bias_type"] = static_cast<int64_t>(bias.scalar_type());
    return pooled;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto sizes = context->saved_data["sizes"].toIntVector();
    const auto format = static_cast<at::MemoryFormat>(context->saved_data["format"].toInt());
    const auto bias_type = static_cast<at::ScalarType>(context->saved_data["bias_type"].toInt());
    const at::Tensor choices = context->get_saved_variables()[0];
    const at::Tensor pooled = gradients[0].contiguous(format);
    const at::Tensor gradient = make_gradient(sizes, pooled.options());
    const int64_t num_parts = std::min(pooled.is_cuda() ? kMostParts : sizes[0], choices.numel() / sizes[1]);
    const at::Tensor parts =
        at::empty({num_parts, sizes[1]}, pooled.options().dtype(accumulator_of(pooled.scalar_type())));
    run_pool({.shape = pool_shape(pooled.scalar_type(), sizes),
              .pooled_gradient = pooled.const_data_ptr(),
              .strides = strides_for(sizes, format),
              .choices = choices.const_data_ptr<uint8_t>(),
              .gradient = gradient.mutable_data_ptr(),
              .bias_gradient_parts = parts.mutable_data_ptr(),
              .num_parts = static_cast<uint32_t>(num_parts)},
             gradient);
    return {gradient, added_parts(parts).to(bias_type), at::Tensor()};
  }
};

kernels::GrayImages gray_images(const at::Tensor& images) {
  return {.pixels = images.const_data_ptr<float>(), .image_stride = images.stride(1), .row_stride = images.stride(0)};
}

class FirstConvolution : public torch::autograd::Function<FirstConvolution> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& images, const at::Tensor& weight,
                            const at::Tensor& bias, int64_t type_number, int64_t format_number) {
    const auto type = static_cast<at::ScalarType>(type_number);
    const auto format = static_cast<at::MemoryFormat>(format_number);
    const std::vector<int64_t> sizes = {images.size(1), weight.size(0), images.size(0), images.size(2)};
    const at::Tensor pooled = at::empty(pooled_sizes(sizes), images.options().dtype(type).memory_format(format));
    const at::Tensor choices = empty_choices(sizes, images.options());
    const at::Tensor dense_images = images.contiguous(), dense_weight = weight.contiguous();
    run_kernels(kernels::FirstConvolutionForward{.shape = pool_shape(type, sizes),
                                                 .images = gray_images(dense_images),
                                                 .weight = dense_weight.const_data_ptr<float>(),
                                                 .bias = bias.contiguous().const_data_ptr<float>(),
                                                 .pooled = pooled.mutable_data_ptr(),
                                                 .strides = strides_for(sizes, format),
                                                 .choices = choices.mutable_data_ptr<uint8_t>()},
                images);
    context->save_for_backward({dense_images, choices});
    context->saved_data["sizes"] = sizes;
    context->saved_data["format"] = format_number;
    return pooled;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto sizes = context->saved_data["sizes"].toIntVector();
    const auto format = static_cast<at::MemoryFormat>(context->saved_data["format"].toInt());
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& images = saved[0];
    const at::Tensor& choices = saved[1];
    const at::Tensor pooled = gradients[0].contiguous(format);
    const at::Tensor parts = at::empty({kMostParts, sizes[1] * (kernels::kTaps + 1)}, images.options());
    run_kernels(kernels::FirstConvolutionBackward{.shape = pool_shape(pooled.scalar_type(), sizes),
                                                  .images = gray_images(images),
                                                  .pooled_gradient = pooled.const_data_ptr(),
                                                  .strides = strides_for(sizes, format),
                                                  .choices = choices.const_data_ptr<uint8_t>(),
                                                  .parts = parts.mutable_data_ptr<float>(),
                                                  .num_parts = static_cast<uint32_t>(kMostParts)},
                images);
    const at::Tensor sums = added_parts(parts);
    const int64_t num_weights = sizes[1] * kernels::kTaps;
    const at::Tensor weight_gradient = sums.narrow(0, 0, num_weights);
    return {at::Tensor(), weight_gradient.view({sizes[1], 1, kernels::kFirstKernelSize, kernels::kFirstKernelSize}),
            sums.narrow(0, num_weights, sizes[1]), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor bias_relu_pool(const at::Tensor& values, const at::Tensor& bias, at::MemoryFormat format) {
  require_countable(values.sizes());
  return BiasReluPool::apply(values, bias, static_cast<int64_t>(format));
}

bool can_run_bias_relu_pool(const at::Tensor& values) { return values.is_cpu() || has_own_kernels(values.device()); }

bool can_run_first_convolution(const at::Tensor& images, const at::Tensor& weight) {
  const bool is_float = images.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat;
  const bool has_shape =
      weight.size(1) == 1 && weight.size(2) == kernels::kFirstKernelSize && weight.size(3) == kernels::kFirstKernelSize;
  return is_float && has_shape && has_own_kernels(images.device()) && has_first_convolution_kernels(images.size(2));
}

at::Tensor first_convolution(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias,
                             at::ScalarType type, at::MemoryFormat format) {
  require_countable({images.size(1), weight.size(0), images.size(0), images.size(2)});
  return FirstConvolution::apply(images, weight, bias, static_cast<int64_t>(type), static_cast<int64_t>(format));
}

}  // namespace rnnlab
