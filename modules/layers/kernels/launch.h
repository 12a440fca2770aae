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
#include <utility>

#include "layers/kernels/element_type.h"

namespace rnnlab::kernels {

inline constexpr uint32_t kLanes = 32;  // threads of a warp
inline constexpr uint32_t kWarps = 8;   // of a block whose warps compute different pixels or rows

// Calls `work` with a value of CUDA's type.
template <class Work>
void with_cuda_type(ElementType type, const Work& work) {
  with_element_type<__half, __nv_bfloat16>(type, work);
}

// Returns whether kernels' code for the current device lets launches overlap: it must be compiled for 9.0 or later.
bool overlaps_launches();

// A kernel that is launched by launch_dependent() may start before the work ahead of it in the stream has ended, so
// that its launch takes less time of its own. Before it reads or writes memory, all of its threads call this function,
// which returns when that work has ended. The function also lets the next such kernel start.
__device__ inline void wait_for_work_ahead() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Adds the values of a warp's lanes, always in the same order; all lanes return the sum.
__device__ inline float warp_sum(float value) {
  for (uint32_t lanes = kLanes / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0U, value, lanes);
  return value;
}

// The kernel calls wait_for_work_ahead() first. shared_bytes: of dynamic shared memory.
template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, size_t shared_bytes,
                      cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = overlaps_launches() ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);  // require_started() finds its error
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
