#include "training/gradients.h"

#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>

namespace rnnlab {

at::Tensor gradient_norms(at::TensorList gradients) { return at::stack(at::_foreach_norm(gradients, 2)); }

void clip_by_norm(at::TensorList gradients, const at::Tensor& norms, double max_norm) {
  const auto total = at::linalg_vector_norm(norms);
  constexpr double kNoDivisionByZero = 1e-6;
  const auto scale = total.add_(kNoDivisionByZero).reciprocal_().mul_(max_norm).clamp_max_(1.0);
  at::_foreach_mul_(gradients, scale);
}

void clip_by_value(at::TensorList gradients, double limit) {
  at::_foreach_clamp_min_(gradients, -limit);
  at::_foreach_clamp_max_(gradients, limit);
}

}  // namespace rnnlab
