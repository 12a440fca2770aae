// SPDX-License-Identifier: Apache-2.0
// A block processes 32 columns of the rows of a part, eight rows at once.
#include "train/models/kernels/padded_gradient.h"

#include "layers/kernels/launch.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kRowsOfGradientBlock = 8;

// Returns the sum of the thread's column over its rows.
template <class T>
__device__ float pad_column(const PaddedGradient& work, uint32_t column) {
  float sum = 0;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kRowsOfGradientBlock;
#pragma unroll 4
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kRowsOfGradientBlock + threadIdx.y; row < work.num_rows;
       row += stride) {
    const float number = column < work.num_columns ? __ldg(work.gradient + row * work.num_columns + column) : 0.0F;
    sum += number;
    if (column < work.padded_columns) store<T>(work.padded, row * work.padded_columns + column, number);
  }
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kLanes* kRowsOfGradientBlock) padded_gradient_kernel(const PaddedGradient work) {
  wait_for_work_ahead();
  __shared__ float sums[kRowsOfGradientBlock][kLanes];
  const uint32_t column = blockIdx.y * kLanes + threadIdx.x;
  sums[threadIdx.y][threadIdx.x] = pad_column<T>(work, column);
  __syncthreads();
  if (threadIdx.y != 0 || column >= work.num_columns) return;
  float sum = 0;
  for (const auto& of_row : sums) sum += of_row[threadIdx.x];
  work.parts[static_cast<int64_t>(blockIdx.x) * work.num_columns + column] = sum;
}

}  // namespace

void run(const PaddedGradient& work, cudaStream_t stream) {
  const dim3 blocks(static_cast<uint32_t>(num_parts_of_sums(work.num_rows)),
                    (work.padded_columns + kLanes - 1) / kLanes);
  with_cuda_type(work.type, [&](auto element) {
    using T = decltype(element);
    launch_dependent(padded_gradient_kernel<T>, blocks, dim3(kLanes, kRowsOfGradientBlock), 0, stream, work);
  });
  require_started("the kernel that pads a gradient");
}

}  // namespace rnnlab::kernels
