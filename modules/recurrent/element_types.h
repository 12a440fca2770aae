// LibTorch's names for number types as those of kernels.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "recurrent/kernels/element_type.h"

namespace rnnlab {

// Of float64, float32, float16 and bfloat16.
inline kernels::ElementType element_type(at::ScalarType type) {
  if (type == at::kFloat) return kernels::ElementType::kFloat32;
  if (type == at::kDouble) return kernels::ElementType::kFloat64;
  if (type == at::kHalf) return kernels::ElementType::kFloat16;
  RNNLAB_INVARIANT(type == at::kBFloat16, fmt::format("no kernel for {}", c10::toString(type)));
  return kernels::ElementType::kBfloat16;
}

}  // namespace rnnlab
