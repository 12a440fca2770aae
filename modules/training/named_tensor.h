// A tensor by the name that files and messages call it. Tensors are handles: a copy of this is no copy of the numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace rnnlab {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

}  // namespace rnnlab
