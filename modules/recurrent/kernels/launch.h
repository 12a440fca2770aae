// SPDX-License-Identifier: Apache-2.0
// Shares what all CUDA sources of kernels on plain pointers need at a launch: the C++ type of an element type, the
// shape of a block, and an exception for a failed launch.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "recurrent/kernels/element_type.h"

namespace rnnlab::kernels {

inline constexpr uint32_t kLanes = 32;  // threads of a warp
inline constexpr uint32_t kWarps = 8;   // of a block whose warps compute different pixels or rows

// Calls `work` with a value of CUDA's type.
template <class Work>
void with_cuda_type(ElementType type, const Work& work) {
  with_element_type<__half, __nv_bfloat16>(type, work);
}

inline constexpr const char* kWithoutImageKernels = ", and convolution: channels_last runs without own kernels";

// Throws std::runtime_error with CUDA's message if the last launch failed. what: the kernel. alternative: the end of
// the sentence, which names what runs without the kernel.
inline void require_started(const char* what, const char* alternative = "") {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + " did not start: " + cudaGetErrorString(error) +
                           "; `rnnlab info` shows what this machine can do" + alternative);
}

}  // namespace rnnlab::kernels
