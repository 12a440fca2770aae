// Computes the numbers of a training step between the gradients and the update: its row, whether a number is not
// finite, and the factor by which clipping scales the gradients (Pascanu et al. 2013). Nothing is read from the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "training/step_record.h"

namespace rnnlab {

// Returns whether our own kernels (kernels/) can take the tensors: all are float32, dense, and on one GPU for which
// this build has the kernels. recurrent/device/run_kernels.h starts them.
bool suit_own_kernels(at::TensorList tensors);

// The functions below compute norms and clip all gradients at once, with multi-tensor operators and without waiting for
// the device. These functions do not check for NaN or Inf; train_step.h does.

// Returns the Euclidean norm of each gradient, (number of gradients).
at::Tensor gradient_norms(at::TensorList gradients);

// Writes these norms with our own kernels to `norms`, (number of gradients) float32.
void write_gradient_norms(at::TensorList gradients, const at::Tensor& norms);

// Returns the factor for all gradients: min(1, max_norm / (total + 1e-6)), where total is the norm of `norms` (Pascanu
// et al. 2013). With the 1e-6, gradients that are all zero do not become NaN; PyTorch adds the same.
at::Tensor clip_scale(const at::Tensor& norms, double max_norm);

// Clamps every element in place to [-limit, limit].
void clip_by_value(at::TensorList gradients, double limit);

struct StepEnd {
  EvaluatedStep step;
  at::Tensor clip_scale;  // (), undefined without clipping by norm
};

// `skipped`: () float32, or undefined if there is no loss scale that skips updates; the norms of a skipped step count
// as 0. `found_inf`: () float32, set to 1 if a number of the row is not finite, and never set to 0.
StepEnd end_of_step(at::TensorList gradients, const Evaluation& evaluation, const at::Tensor& skipped,
                    at::Tensor& found_inf, const std::optional<double>& max_norm);

}  // namespace rnnlab
