// The gradient of a weight as one product over all steps and sequences.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace rnnlab {

// left^T right for dense (R, M) and (R, N) of a type that panel.h has: (M, N) in float32, by all threads.
at::Tensor multiply_over_rows(const at::Tensor& left, const at::Tensor& right);

}  // namespace rnnlab
