// What training calls of librnnlab_cuda.so, beside the work of its kernels (recurrent/run_kernels.h) and CUDA graphs
// (cuda_graph.h).
#pragma once

#include "gpu/cuda_function.h"

namespace rnnlab {

// Ranges for NVIDIA's profilers, one within another.
inline constinit CudaFunction<void(const char* name)> begin_profiler_range;
inline constinit CudaFunction<void()> end_profiler_range;

}  // namespace rnnlab
