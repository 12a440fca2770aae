// What the CUDA sources here share: the shape of a block, an element type as a C++ type, and a launch that failed as an
// exception.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "recurrent/kernels/element_type.h"

namespace rnnlab::kernels {

// A block's threads: a warp works on neighbouring channels of a pixel, the warps on different pixels.
inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kWarps = 8;

// Calls `work` with a value of the type.
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

// std::runtime_error with CUDA's words where the last launch failed.
inline void require_started(const char* what) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + " did not start: " + cudaGetErrorString(error) +
                           "; `rnnlab info` shows what this machine can do, and convolution: channels_last runs "
                           "without own kernels");
}

}  // namespace rnnlab::kernels
