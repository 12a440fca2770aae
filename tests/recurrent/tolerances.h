// Defines the largest allowed error of a layer against the float64 reference, as the largest error of a vector relative
// to its largest value (at least 1). Each bound is defined here once, with its reason.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// The sums have a different order: rounding is 1e-16, over a few hundred terms.
constexpr double kFloat64 = 1e-13;

// Rounding is 6e-8, in sums over five steps and two layers, and oneDNN has its own tanh and sigmoid.
constexpr double kFloat32Cpu = 3e-6;

// cuDNN's fp32 kernels approximate tanh and sigmoid: 3.1e-5 was the largest error of a gradient on an H200. TF32, with
// an error of 1e-3, fails this bound.
constexpr double kFloat32Cuda = 6e-5;

// Every stored state and gradient is rounded to 8 bits (4e-3), over five steps and two layers, forward and backward.
constexpr double kBfloat16 = 6e-2;

// Stored values are rounded to 11 bits (5e-4).
constexpr double kFloat16 = 1e-2;

inline double tolerance_of(at::ScalarType type, at::Device device) {
  if (type == at::kDouble) return kFloat64;
  if (type == at::kBFloat16) return kBfloat16;
  if (type == at::kHalf) return kFloat16;
  return device.is_cuda() ? kFloat32Cuda : kFloat32Cpu;
}

// Returns how far a relu's argument must be from its kink, so that rounding in this type does not cross the kink.
inline double distance_to_kink_of(at::ScalarType type) {
  if (type == at::kBFloat16) return 0.02;
  return type == at::kHalf ? 4e-3 : 1e-3;
}

}  // namespace rnnlab
