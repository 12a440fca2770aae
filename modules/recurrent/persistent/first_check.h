// Checks once whether the persistent kernels give the results of `layer: fused` on this machine, for kinds of GPU on
// which they were never tested: all except those of compute capability 9.0. Each class of numbers is checked when a
// layer first uses it. A kind of GPU that passed is stored in cache_folder(), by class, driver and kernels.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace rnnlab {

// Throws UserError kUsage if outputs or gradients are wrong. The random state is not changed. float32 is one of two
// classes, tf32 or fp32, according to LibTorch's switch.
void require_checked_gpu(c10::Device device, at::ScalarType type);

// Returns the largest error of outputs and gradients of a layer of each cell, relative to the largest number of `fused`
// and to the difference that rounding of `type` explains: at most 1 if the kernels are correct.
double largest_difference_from_fused(c10::Device device, at::ScalarType type);

}  // namespace rnnlab
