// The rows of a matrix added up, in a fixed order: the last step of sums that blocks made parts of.
#pragma once

#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

struct AddParts {
  const float* parts = nullptr;  // (num_parts, size)
  uint32_t num_parts = 0;
  uint32_t size = 0;
  float* sums = nullptr;  // (size)
};

// Queued on `stream`. Throws std::runtime_error with CUDA's words if the launch fails.
void run(const AddParts& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
