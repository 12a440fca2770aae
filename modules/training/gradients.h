// Norms and clipping of all gradients at once, by multi-tensor operators and without waiting for the device. NaN and
// Inf go through: finding them is train_step.h's affair.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// The Euclidean norm of each gradient, (number of gradients).
at::Tensor gradient_norms(at::TensorList gradients);

// The same by own kernels (own_kernels.h), to a tensor of that many float32.
void write_gradient_norms(at::TensorList gradients, const at::Tensor& norms);

// What clipping multiplies all gradients by: min(1, max_norm / (total + 1e-6)), total being the norm of `norms`
// (Pascanu et al. 2013). The 1e-6 keeps gradients that are all zero from becoming NaN; PyTorch adds the same.
at::Tensor clip_scale(const at::Tensor& norms, double max_norm);

// Clamps every element in place to [-limit, limit].
void clip_by_value(at::TensorList gradients, double limit);

}  // namespace rnnlab
