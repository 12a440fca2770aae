// What training calls of librnnlab_cuda.so, beside the work of its kernels (recurrent/run_kernels.h) and CUDA graphs
// (cuda_graph.h).
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

#include "gpu/cuda_library.h"

namespace rnnlab {

// Moves the GPU's default generator with this seed to the stretch of random numbers `first` + `next`, of which each is
// long enough for one step. While the current stream is captured: to stretch `next` from where a replay begins.
inline constinit CudaFunction<void(c10::Device, uint64_t seed, uint64_t first, uint64_t next)> move_generator;

// Ranges for NVIDIA's profilers, one within another.
inline constinit CudaFunction<void(const char* name)> begin_profiler_range;
inline constinit CudaFunction<void()> end_profiler_range;

}  // namespace rnnlab
