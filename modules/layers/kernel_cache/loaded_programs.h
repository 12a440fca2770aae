// SPDX-License-Identifier: Apache-2.0
// Kernels that this process has loaded. Each is compiled when it is first needed, for one architecture, or read from
// the cache (kernel_cache.h).
#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layers/kernel_cache/nvrtc.h"

namespace rnnlab {

// Throws std::runtime_error if a call of CUDA failed. what: the call, as the message names it.
void check_cuda(cudaError_t error, std::string_view what);

// Returns the kernels of a program in the order of its names, which stay as long as the process. Several threads may
// call it. Throws as compile(); std::runtime_error if CUDA cannot load them; InvariantError if they would be loaded
// while a CUDA graph is captured on the current stream: the steps before the capture must load all kernels.
const std::vector<cudaKernel_t>& loaded_kernels(const KernelProgram& program);

// Returns why no kernel is available, as one sentence; nothing if kernels are available.
std::optional<std::string> kernels_unavailable_reason();

// Returns notes for the user about kernels that were compiled since the last call (KernelProvider).
std::vector<std::string> notes_on_loaded_kernels();

}  // namespace rnnlab
