// SPDX-License-Identifier: Apache-2.0
// Applies dropout between recurrent layers. On CUDA the dropout is LibTorch's own. On the CPU LibTorch draws one
// element after another in one thread, which took a tenth of a training step. Here all threads draw from counters, so
// that the mask depends only on the generator's state and not on the number of threads.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// Returns `values` of any shape, in which each element is zero with this probability (at least 0 and below 1) and is
// otherwise scaled by 1 / (1 - probability). Advances the device's default generator.
at::Tensor apply_dropout(const at::Tensor& values, double probability);

}  // namespace rnnlab
