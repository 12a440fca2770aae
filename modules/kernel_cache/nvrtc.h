// NVIDIA's compiler of kernels as a library, NVRTC of CUDA 13, which LibTorch for CUDA brings along. It is loaded when
// it is asked for first; it needs no GPU and no CUDA toolkit.
#pragma once

#include <optional>
#include <string>

#include "kernel_cache/program.h"

namespace rnnlab {

// Why nothing can be compiled, as one sentence; nothing where it can.
std::optional<std::string> nvrtc_refusal();

// "13.0"; needs NVRTC.
std::string nvrtc_version();

// The options that every program is compiled with, besides its architecture.
std::string kernel_options();

// UserError kDevice where there is no NVRTC, it does not know the architecture, or it does not compile the source: then
// with its words. Several threads may compile at once.
CompiledKernels compile(const KernelProgram& program);

}  // namespace rnnlab
