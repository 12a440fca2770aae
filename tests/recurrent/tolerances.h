// How far a layer may be from the float64 reference, as the largest error of a vector relative to its largest value (at
// least 1). Named here once, each with its reason.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// The same sums in another order: rounding is 1e-16, over a few hundred terms.
constexpr double kFloat64 = 1e-13;

// Rounding is 6e-8; sums over five steps and two layers, and oneDNN's own tanh and sigmoid.
constexpr double kFloat32Cpu = 3e-6;

// cuDNN's fp32 kernels approximate tanh and sigmoid: 3.1e-5 was the largest error of a gradient on an H200; TF32, with
// 1e-3, would not pass.
constexpr double kFloat32Cuda = 6e-5;

// Every stored state and gradient is rounded to 8 bits (4e-3), over five steps, two layers and back.
constexpr double kBfloat16 = 6e-2;

// The same with 11 bits (5e-4).
constexpr double kFloat16 = 1e-2;

inline double tolerance_of(at::ScalarType type, at::Device device) {
  if (type == at::kDouble) return kFloat64;
  if (type == at::kBFloat16) return kBfloat16;
  if (type == at::kHalf) return kFloat16;
  return device.is_cuda() ? kFloat32Cuda : kFloat32Cpu;
}

// How far a relu's argument must stay from its kink, for rounding in this type not to cross it.
inline double distance_to_kink_of(at::ScalarType type) {
  if (type == at::kBFloat16) return 0.02;
  return type == at::kHalf ? 4e-3 : 1e-3;
}

}  // namespace rnnlab
