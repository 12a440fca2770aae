#include "training/gradients.h"

#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>

#include "recurrent/run_kernels.h"
#include "training/kernels/norms.h"
#include "training/own_kernels.h"

namespace rnnlab {

at::Tensor gradient_norms(at::TensorList gradients) {
  if (!suit_own_kernels(gradients)) return at::stack(at::_foreach_norm(gradients, 2));
  const at::Tensor norms = at::empty({std::ssize(gradients)}, gradients.front().options().requires_grad(false));
  write_gradient_norms(gradients, norms);
  return norms;
}

void write_gradient_norms(at::TensorList gradients, const at::Tensor& norms) {
  std::vector<kernels::NormTensor> work;
  work.reserve(gradients.size());
  for (const at::Tensor& gradient : gradients) work.push_back({gradient.const_data_ptr<float>(), gradient.numel()});
  const at::Tensor parts = at::empty({kernels::num_norm_parts(work)}, norms.options());
  run_kernels(kernels::Norms{work, parts.mutable_data_ptr<float>(), norms.mutable_data_ptr<float>()}, norms);
}

at::Tensor clip_scale(const at::Tensor& norms, double max_norm) {
  const auto total = at::linalg_vector_norm(norms);
  constexpr double kNoDivisionByZero = 1e-6;
  return total.add_(kNoDivisionByZero).reciprocal_().mul_(max_norm).clamp_max_(1.0);
}

void clip_by_value(at::TensorList gradients, double limit) {
  at::_foreach_clamp_min_(gradients, -limit);
  at::_foreach_clamp_max_(gradients, limit);
}

}  // namespace rnnlab
