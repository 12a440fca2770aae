// SPDX-License-Identifier: Apache-2.0
// Kernels that this process has loaded. Each is compiled when it is first needed, for one architecture, or read from
// the cache (kernel_cache.h).
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "layers/kernel_cache/nvrtc.h"

namespace rnnlab {

class KernelProvider;

// Returns the kernels of a program in the order of its names, which stay as long as the process. Several threads may
// call it. Throws as compile(); std::runtime_error if CUDA cannot load them; InvariantError if they would be loaded
// while a CUDA graph is captured on the current stream: the steps before the capture must load all kernels.
const std::vector<cudaKernel_t>& loaded_kernels(const KernelProgram& program);

// Returns the source of compiled kernels. It is not thread-safe.
KernelProvider& kernel_supply();

}  // namespace rnnlab
