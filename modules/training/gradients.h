// Norms and clipping of all gradients at once, by multi-tensor operators and without waiting for the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace rnnlab {

// The Euclidean norm of each gradient, () each.
std::vector<at::Tensor> gradient_norms(at::TensorList gradients);

// Scales all gradients in place by min(1, max_norm / total), total being the norm of `norms` (Pascanu et al. 2013).
void clip_by_norm(at::TensorList gradients, at::TensorList norms, double max_norm);

// Clamps every element in place to [-limit, limit].
void clip_by_value(at::TensorList gradients, double limit);

}  // namespace rnnlab
