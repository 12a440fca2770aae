// What models call of librnnlab_cuda.so, beside the work of their kernels (recurrent/run_kernels.h).
#pragma once

#include <c10/core/Device.h>

#include "gpu/cuda_library.h"
#include "models/kernels/dense_head.h"

namespace rnnlab {

// Whether images of so many columns have room in a block.
inline constinit CudaFunction<bool(int64_t num_columns)> has_first_convolution_kernels;

// A stretch of the GPU's default generator, taken in a capture as well as out of it.
inline constinit CudaFunction<kernels::RandomStart(c10::Device)> take_random_numbers;

}  // namespace rnnlab
