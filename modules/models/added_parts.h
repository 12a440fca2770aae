// Sums that kernels leave in parts.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// The rows of a dense (parts, n) added up in a fixed order: (n).
at::Tensor added_parts(const at::Tensor& parts);

}  // namespace rnnlab
