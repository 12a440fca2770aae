// What a training step tells of itself between the gradients and the update: its row of numbers, whether one of them is
// not finite, and by how much clipping scales the gradients (Pascanu et al. 2013). Nothing is read back.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "training/step_record.h"

namespace rnnlab {

// Which tensors the kernels of kernels/ can take; recurrent/run_kernels.h starts them.

// Whether all are float32, dense, and on one GPU that this build has the kernels for.
bool suit_own_kernels(at::TensorList tensors);

// Norms and clipping of all gradients at once, by multi-tensor operators and without waiting for the device. NaN and
// Inf go through: finding them is train_step.h's affair.

// The Euclidean norm of each gradient, (number of gradients).
at::Tensor gradient_norms(at::TensorList gradients);

// The same by own kernels (step_end.h), to a tensor of that many float32.
void write_gradient_norms(at::TensorList gradients, const at::Tensor& norms);

// What clipping multiplies all gradients by: min(1, max_norm / (total + 1e-6)), total being the norm of `norms`
// (Pascanu et al. 2013). The 1e-6 keeps gradients that are all zero from becoming NaN; PyTorch adds the same.
at::Tensor clip_scale(const at::Tensor& norms, double max_norm);

// Clamps every element in place to [-limit, limit].
void clip_by_value(at::TensorList gradients, double limit);

struct StepEnd {
  EvaluatedStep step;
  at::Tensor clip_scale;  // (), undefined without clipping by norm
};

// `skipped`: () float32, or undefined where no loss scale leaves updates out; the norms of a skipped step count as 0.
// `found_inf`, () float32: set to 1 where a number of the row is not finite, and never lowered.
StepEnd end_of_step(at::TensorList gradients, const Evaluation& evaluation, const at::Tensor& skipped,
                    at::Tensor& found_inf, const std::optional<double>& max_norm);

}  // namespace rnnlab
