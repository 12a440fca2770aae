// SPDX-License-Identifier: Apache-2.0
// Sums of products that a caller of a step's kernels has computed itself, in float32, for a part of the units.
#pragma once

#include <cstdint>

namespace rnnlab::kernels {

// Sums for rows and units from `first_row` and `first_unit` on. In a forward step they replace Products::input and
// Products::recurrent: both products without biases, place by place as the program's code says. In a backward step,
// place 0 is the gradient from the next step.
struct Sums {
  const float* data = nullptr;  // null: there are no sums
  int64_t row_stride = 0;
  int64_t gate_stride = 0;
  int64_t first_row = 0;
  int64_t first_unit = 0;
};

// For code that never has sums, so that it is compiled without them.
struct NoSums {};

}  // namespace rnnlab::kernels
