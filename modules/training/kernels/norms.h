// Computes the Euclidean norms of many float32 tensors. The order of addition is fixed.
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

// Returns the number of floats that Norms::parts must have for these tensors.
inline int64_t num_norm_parts(std::span<const NormTensor> tensors) {
  int64_t parts = 0;
  for (const NormTensor& tensor : tensors) parts += num_pieces(tensor.size);
  return parts;
}

struct Norms {
  std::span<const NormTensor> tensors;
  float* parts = nullptr;  // partial sums
  float* norms = nullptr;  // (tensors)
};

// Queues the work on `stream`. Throws std::runtime_error with CUDA's message if a launch fails.
void run(const Norms& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
