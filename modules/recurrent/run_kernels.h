// Starts work on plain pointers, which kernels take, on the GPU where LibTorch's tensors lie.
#pragma once

#include <ATen/core/Tensor.h>

#include "gpu/cuda_library.h"
#include "recurrent/started_on_device.h"

namespace rnnlab {

// Defined for every type of work that has kernels (run_kernels_on_cuda.h).
template <class Work>
inline constinit CudaFunction<void(const Work&, c10::Device)> kernels_of;

// Queued on the current stream of the GPU. UserError kDevice as started_on_device.
template <class Work>
void run_kernels(const Work& work, c10::Device device) {
  started_on_device([&] { kernels_of<Work>(work, device); });
}

template <class Work>
void run_kernels(const Work& work, const at::Tensor& where) {
  run_kernels(work, where.device());
}

}  // namespace rnnlab
