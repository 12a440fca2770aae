// What a training step tells of itself between the gradients and the update: its row of numbers, whether one of them is
// not finite, and by how much clipping scales the gradients (Pascanu et al. 2013). Nothing is read back.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "training/step_record.h"

namespace rnnlab {

struct StepEnd {
  EvaluatedStep step;
  at::Tensor clip_scale;  // (), undefined without clipping by norm
};

// `skipped`: () float32, or undefined where no loss scale leaves updates out; the norms of a skipped step count as 0.
// `found_inf`, () float32: set to 1 where a number of the row is not finite, and never lowered.
StepEnd end_of_step(at::TensorList gradients, const Evaluation& evaluation, const at::Tensor& skipped,
                    at::Tensor& found_inf, const std::optional<double>& max_norm);

}  // namespace rnnlab
