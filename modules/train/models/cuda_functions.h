// SPDX-License-Identifier: Apache-2.0
// The functions of librnnlab_cuda.so that models call, except the work of their kernels
// (layers/device/run_kernels.h).
#pragma once

#include <c10/core/Device.h>

#include "layers/device/cuda_library.h"
#include "train/models/kernels/dense_head.h"

namespace rnnlab {

// Returns whether images with this number of columns fit into the shared memory of a block.
inline constinit CudaFunction<bool(int64_t num_columns)> has_first_convolution_kernels;

// Reserves a range of the GPU's default generator, inside or outside of a graph capture.
inline constinit CudaFunction<kernels::RandomStart(c10::Device)> take_random_numbers;

}  // namespace rnnlab
