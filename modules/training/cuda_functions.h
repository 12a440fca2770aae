// Declares the functions of librnnlab_cuda.so that training calls, except those that start kernels
// (recurrent/device/run_kernels.h) and those of CUDA graphs (cuda_graph.h).
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

#include "gpu/cuda_library.h"

namespace rnnlab {

// Seeds the GPU's default generator with `seed` and moves the generator to section `first` + `next` of its random
// numbers; a section suffices for one step. While the current stream is captured, moves the generator to section
// `next`, counted from the section at which a replay begins.
inline constinit CudaFunction<void(c10::Device, uint64_t seed, uint64_t first, uint64_t next)> move_generator;

// These functions begin and end a range for NVIDIA's profilers; ranges may be nested.
inline constinit CudaFunction<void(const char* name)> begin_profiler_range;
inline constinit CudaFunction<void()> end_profiler_range;

}  // namespace rnnlab
