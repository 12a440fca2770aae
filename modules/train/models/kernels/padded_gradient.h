// SPDX-License-Identifier: Apache-2.0
// The gradient of a linear layer's outputs on a GPU, prepared for its products by one kernel: converted, filled up with
// columns of zeros, and added up over rows for the gradient of the bias. The order of addition is fixed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "layers/kernels/element_type.h"

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

struct PaddedGradient {
  const float* gradient = nullptr;  // (rows, columns)
  int64_t num_rows = 0;
  uint32_t num_columns = 0;
  uint32_t padded_columns = 0;               // at least num_columns
  ElementType type = ElementType::kFloat32;  // of the result; not kFloat64
  void* padded = nullptr;                    // (rows, padded columns)
  float* parts = nullptr;                    // (num_parts_of_sums(), columns), to be added by AddParts
};

inline constexpr int64_t kRowsOfGradientPart = 64;
inline int64_t num_parts_of_sums(int64_t num_rows) {
  constexpr int64_t kMostParts = 256;
  return std::clamp<int64_t>(num_rows / kRowsOfGradientPart, 1, kMostParts);
}

// Queues the work on `stream`. Throws std::runtime_error with CUDA's message if the launch fails.
void run(const PaddedGradient& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
