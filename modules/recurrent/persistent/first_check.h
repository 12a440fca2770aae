// One look at whether the persistent kernels compute on this machine what `layer: fused` does, on kinds of GPU that
// they were never run on: all but those of compute capability 9.0. A kind that passed is remembered in cache_folder().
#pragma once

#include <c10/core/Device.h>

#include <filesystem>

namespace rnnlab {

// UserError kUsage where outputs or gradients are wrong. The random state stays as it was.
void require_checked_gpu(c10::Device device);

// The largest error of outputs and gradients of a layer of each cell in float32 and bfloat16, each relative to the
// largest number that `fused` gives, and to what its type may differ by: at most 1 where all is well.
double largest_difference_from_fused(c10::Device device);

}  // namespace rnnlab
