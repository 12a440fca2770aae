// SPDX-License-Identifier: Apache-2.0
// Starts kernels, which take plain pointers, on the GPU of LibTorch's tensors. A kernel that does not start is an error
// of the user's machine. run_kernels_on_cuda.h has the part in librnnlab_cuda.so.
#pragma once

#include <ATen/core/Tensor.h>

#include <stdexcept>

#include "base/error.h"
#include "layers/device/cuda_library.h"

namespace rnnlab {

// Returns the result of start(). Throws UserError kDevice if start() throws std::runtime_error, as kernels/ do if a
// kernel does not start, because the cause is a fault of the machine or of the build.
template <class Start>
auto started_on_device(const Start& start) {
  try {
    return start();
  } catch (const std::runtime_error& error) {
    throw_error(ExitCode::kDevice, "{}", error.what());
  }
}

// Each type of work with kernels defines this function (run_kernels_on_cuda.h).
template <class Work>
inline constinit CudaFunction<void(const Work&, c10::Device)> kernels_of;

// Queues the work on the current stream of the GPU. Throws UserError kDevice if its kernels do not start.
template <class Work>
void run_kernels(const Work& work, c10::Device device) {
  started_on_device([&] { kernels_of<Work>(work, device); });
}

template <class Work>
void run_kernels(const Work& work, const at::Tensor& where) {
  run_kernels(work, where.device());
}

}  // namespace rnnlab
