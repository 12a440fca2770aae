// Adds the rows of a matrix in a fixed order, as the last step of sums of which each block computed a part.
#pragma once

#include <cstdint>

struct CUstream_st;  // cudaStream_t is a pointer to this type

namespace rnnlab::kernels {

struct AddParts {
  const float* parts = nullptr;  // (num_parts, size)
  uint32_t num_parts = 0;
  uint32_t size = 0;
  float* sums = nullptr;  // (size)
};

// Queues the work on `stream`. Throws std::runtime_error with CUDA's message if the launch fails.
void run(const AddParts& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
