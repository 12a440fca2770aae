// SPDX-License-Identifier: Apache-2.0
// The part of run_kernels.h in librnnlab_cuda.so: work is started by `run(work, stream)`.
//
//   const auto defined = define_kernels<ProgramStep, ProgramScan>();
#pragma once

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "layers/device/run_kernels.h"

namespace rnnlab {

template <class Work>
void run_on_current_stream(const Work& work, c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  run(work, c10::cuda::getCurrentCUDAStream(device.index()).stream());
}

template <class... Work>
bool define_kernels() {
  return (kernels_of<Work>.define(run_on_current_stream<Work>) && ...);
}

}  // namespace rnnlab
