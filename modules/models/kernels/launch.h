// Shared code of the CUDA sources in this folder: the shape of a block, the C++ type of an element type, and an
// exception for a failed launch.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "recurrent/kernels/element_type.h"

namespace rnnlab::kernels {

// The threads of a block: a warp computes adjacent channels of a pixel, and the warps compute different pixels.
inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kWarps = 8;

// Calls `work` with a value of the C++ type.
template <class Work>
void with_element_type(ElementType type, const Work& work) {
  switch (type) {
    case ElementType::kFloat32:
      return work(float());
    case ElementType::kFloat64:
      return work(double());
    case ElementType::kFloat16:
      return work(__half());
    case ElementType::kBfloat16:
      return work(__nv_bfloat16());
  }
}

// Throws std::runtime_error with CUDA's message if the last launch failed.
inline void require_started(const char* what) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + " did not start: " + cudaGetErrorString(error) +
                           "; `rnnlab info` shows what this machine can do, and convolution: channels_last runs "
                           "without own kernels");
}

}  // namespace rnnlab::kernels
