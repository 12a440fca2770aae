// Euclidean norms of many float32 tensors, in a fixed order of addition.
#pragma once

#include <cstdint>
#include <span>

#include "training/kernels/pieces.h"

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

struct NormTensor {
  const float* values = nullptr;
  int64_t size = 0;
};

// How many floats `parts` of norms of these must have.
inline int64_t num_norm_parts(std::span<const NormTensor> tensors) {
  int64_t parts = 0;
  for (const NormTensor& tensor : tensors) parts += num_pieces(tensor.size);
  return parts;
}

struct Norms {
  std::span<const NormTensor> tensors;
  float* parts = nullptr;  // for sums on the way
  float* norms = nullptr;  // (tensors)
};

// Queued on `stream`. Throws std::runtime_error with CUDA's words if a launch fails.
void run(const Norms& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
