#include "models/dense_head.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/added_parts.h"
#include "models/cuda_functions.h"
#include "recurrent/element_types.h"
#include "recurrent/gpu_support.h"
#include "recurrent/run_kernels.h"

namespace rnnlab {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::HeadShape head_shape(const at::Tensor& hidden, const at::Tensor& weight) {
  return {.type = element_type(hidden.scalar_type()),
          .num_rows = static_cast<uint32_t>(hidden.size(0)),
          .num_columns = static_cast<uint32_t>(hidden.size(1)),
          .num_outputs = static_cast<uint32_t>(weight.size(0))};
}

class DenseHead : public torch::autograd::Function<DenseHead> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_products, const at::Tensor& bias,
                            double dropout, const at::Tensor& given_weight, const at::Tensor& output_bias) {
    const at::Tensor products = given_products.contiguous(), weight = given_weight.contiguous();
    const at::Tensor hidden = at::empty_like(products);
    const at::Tensor outputs = at::empty({products.size(0), weight.size(0)}, weight.options().requires_grad(false));
    const auto random = dropout > 0.0 ? take_random_numbers(products.device()) : kernels::RandomStart();
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

at::Tensor dense_end(const at::Tensor& values, const torch::nn::Linear& dense, double dropout,
                     const torch::nn::Linear& output) {
  return dense_head(at::mm(values, dense->weight.t()), dense->bias, dropout, output->weight, output->bias);
}

}  // namespace rnnlab
