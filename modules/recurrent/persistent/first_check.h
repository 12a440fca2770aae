// One look at whether the persistent kernels compute on this machine what `layer: fused` does, on kinds of GPU that
// they were never run on: all but those of compute capability 9.0. Each class of numbers is checked when a layer uses
// it first. A kind of GPU that passed is remembered in cache_folder(), by class, driver and kernels.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace rnnlab {

// UserError kUsage where outputs or gradients are wrong. The random state stays as it was.
// float32 stands for two classes: tf32 and fp32, whichever LibTorch has switched on.
void require_checked_gpu(c10::Device device, at::ScalarType type);

// The largest error of outputs and gradients of a layer of each cell, relative to the largest number that `fused` gives
// and to the difference that rounding of `type` explains: at most 1 if the kernels are right.
double largest_difference_from_fused(c10::Device device, at::ScalarType type);

}  // namespace rnnlab
