// Starts work on plain pointers, which the kernels of models and training take, where LibTorch's tensors lie.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "recurrent/started_on_device.h"

namespace rnnlab {

// Queued on the current stream of the GPU of `where`. UserError kDevice as started_on_device.
template <class Work>
void run_kernels(const Work& work, const at::Tensor& where) {
  const c10::cuda::CUDAGuard device(where.device());
  started_on_device([&] { run(work, c10::cuda::getCurrentCUDAStream(where.device().index()).stream()); });
}

}  // namespace rnnlab
