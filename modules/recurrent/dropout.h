// Dropout between recurrent layers. On CUDA it is LibTorch's own. On the CPU LibTorch draws one element after another
// in one thread, which took a tenth of a training step; here all threads draw, from counters, so that the mask depends
// on the generator's state alone and not on their number.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// `values` of any shape, each element zero with this probability (at least 0 and below 1) and else scaled up by
// 1 / (1 - probability). Moves the device's default generator on.
at::Tensor dropped_out(const at::Tensor& values, double probability);

}  // namespace rnnlab
