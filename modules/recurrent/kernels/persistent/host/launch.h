// What all launches of kernels in this folder share on the host: a failed call of CUDA as an exception, and the grid of
// a kernel that goes over many vectors in strides.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace rnnlab::kernels::persistent {

// std::runtime_error if a call failed. what: the call, as the message names it.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next kernel's check would report this error
  throw std::runtime_error(std::string("layer: persistent: ") + what +
                           " failed on this GPU: " + cudaGetErrorString(error));
}

constexpr int kStrideThreads = 256;  // threads of a block

inline unsigned blocks_for(int64_t vectors) {
  constexpr int64_t kMostBlocks = 1056;  // 8 for each SM of an H200
  return static_cast<unsigned>(std::clamp<int64_t>((vectors + kStrideThreads - 1) / kStrideThreads, 1, kMostBlocks));
}

}  // namespace rnnlab::kernels::persistent
