// SPDX-License-Identifier: Apache-2.0
// Holds a tensor with its name in files and messages. A copy of a NamedTensor shares the numbers of the tensor.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace rnnlab {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

}  // namespace rnnlab
