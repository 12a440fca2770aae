// Starts the point-wise part of steps where their tensors are: on the current CUDA stream, or by the threads of the
// CPU.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <span>

#include "recurrent/kernels/pointwise.h"
#include "recurrent/run_kernels.h"

namespace rnnlab {

template <class Work>
void launch_step(const Work& work, const at::Device& device) {
  if (device.is_cuda()) return run_kernels(work, device);
  constexpr int64_t kUnitsPerThread = 2048;  // that a thread of the CPU is worth starting for
  const int64_t grain = std::max<int64_t>(1, kUnitsPerThread / work.step.hidden_size);
  at::parallel_for(0, work.step.batch_size, grain, [&](int64_t first, int64_t last) {
    kernels::run(work, kernels::Rows{first, last});
  });
}

// Steps of several layers that do not wait for each other, on CUDA by one kernel.
template <class Work>
void launch_steps(std::span<const Work> works, const at::Device& device) {
  if (!device.is_cuda()) {
    for (const Work& work : works) launch_step(work, device);
    return;
  }
  for (size_t first = 0; first < works.size(); first += kernels::kLayersAtOnce)
    run_kernels(works.subspan(first, std::min(kernels::kLayersAtOnce, works.size() - first)), device);
}

}  // namespace rnnlab
