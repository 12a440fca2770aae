// Starts work on plain pointers, which kernels/ here and in ../training take, where LibTorch's tensors lie.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <stdexcept>

#include "base/error.h"

namespace rnnlab {

// Queued on the current stream of the GPU of `where`. UserError kDevice where a kernel does not start: for the caller
// it is the machine's fault, or the build's.
template <class Work>
void run_kernels(const Work& work, const at::Tensor& where) {
  try {
    const c10::cuda::CUDAGuard device(where.device());
    run(work, c10::cuda::getCurrentCUDAStream(where.device().index()).stream());
  } catch (const std::runtime_error& error) {
    throw_error(ExitCode::kDevice, "{}", error.what());
  }
}

}  // namespace rnnlab
