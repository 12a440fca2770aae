#include "training/cross_entropy.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <torch/csrc/autograd/custom_function.h>

#include "recurrent/run_kernels.h"
#include "training/kernels/cross_entropy.h"
#include "training/own_kernels.h"

namespace rnnlab {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class CrossEntropyOnGpu : public torch::autograd::Function<CrossEntropyOnGpu> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& given_logits, const at::Tensor& given) {
    const at::Tensor logits = given_logits.contiguous(), classes = given.contiguous();
    const at::Tensor loss = at::empty({}, logits.options()), num_right = at::empty({}, logits.options());
    const at::Tensor gradient = given_logits.requires_grad() ? at::empty_like(logits) : at::Tensor();
    const at::Tensor parts = at::empty({kernels::num_cross_entropy_parts(logits.size(0)), 2}, logits.options());
    run_kernels(kernels::CrossEntropy{.logits = logits.const_data_ptr<float>(),
                                      .classes = classes.const_data_ptr<int64_t>(),
                                      .num_rows = logits.size(0),
                                      .num_classes = logits.size(1),
                                      .gradient = gradient.defined() ? gradient.mutable_data_ptr<float>() : nullptr,
                                      .parts = parts.mutable_data_ptr<float>(),
                                      .loss = loss.mutable_data_ptr<float>(),
                                      .num_right = num_right.mutable_data_ptr<float>()},
                logits);
    context->mark_non_differentiable({num_right});
    context->save_for_backward({gradient});
    context->set_materialize_grads(false);  // of the number of right answers: zeros that nobody reads
    return {loss, num_right};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (!gradients[0].defined()) return {at::Tensor(), at::Tensor()};
    return {context->get_saved_variables()[0].mul(gradients[0]), at::Tensor()};
  }
};

}  // namespace

CrossEntropyResult cross_entropy_on_gpu(const at::Tensor& logits, const at::Tensor& classes) {
  const variable_list results = CrossEntropyOnGpu::apply(logits, classes);
  return {results[0], results[1]};
}

}  // namespace rnnlab
