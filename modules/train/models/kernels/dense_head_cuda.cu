// SPDX-License-Identifier: Apache-2.0
// In the forward pass a block computes one row. In the backward pass a block computes 32 columns of a part of the rows,
// and a thread computes every 16th row of one column.
#include "train/models/kernels/dense_head.h"

#include "layers/kernels/launch.h"
#include "train/models/kernels/dropout_cuda.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kHeadThreads = kLanes * kWarps;
constexpr uint32_t kWarpsOfGradient = 16;
constexpr uint32_t kGradientThreads = kLanes * kWarpsOfGradient;
constexpr uint32_t kColumnsOfThread = kNumbersOfDraw;
constexpr uint32_t kRowsOfPart = kRowsOfHeadPart;

// Adds the sums of the block's threads and writes them to the row of the outputs.
__device__ void write_outputs(const HeadForward& work, const float (&sums)[kMostOutputs]) {
  __shared__ float of_warps[kWarps][kMostOutputs];
  const uint32_t lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  for (uint32_t output = 0; output < kMostOutputs; ++output) {
    if (output >= work.shape.num_outputs) break;
    const float sum = warp_sum(sums[output]);
    if (lane == 0) of_warps[warp][output] = sum;
  }
  __syncthreads();
  if (threadIdx.x >= work.shape.num_outputs) return;
  float sum = work.output_bias[threadIdx.x];
  for (const auto& of_warp : of_warps) sum += of_warp[threadIdx.x];
  work.outputs[static_cast<int64_t>(blockIdx.x) * work.shape.num_outputs + threadIdx.x] = sum;
}

template <class T>
__global__ void __launch_bounds__(kHeadThreads) head_kernel(const HeadForward work) {
  wait_for_work_ahead();
  const uint32_t num_columns = work.shape.num_columns;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * num_columns;
  const Dropout dropout(work.dropout, work.random);
  float sums[kMostOutputs] = {};
  uint32_t iteration = 0;
  const uint32_t iterations = (num_columns + kHeadThreads * kColumnsOfThread - 1) / (kHeadThreads * kColumnsOfThread);
  for (uint32_t first = threadIdx.x; first < num_columns; first += kHeadThreads * kColumnsOfThread) {
    float factors[kColumnsOfThread];
    dropout.draw((static_cast<uint64_t>(blockIdx.x) * iterations + iteration++) * kHeadThreads + threadIdx.x, factors);
#pragma unroll
    for (uint32_t i = 0; i < kColumnsOfThread; ++i) {
      const uint32_t column = first + i * kHeadThreads;
      if (column >= num_columns) break;
      const float value = load<T>(work.products, row + column) + work.bias[column];
      const float active = value < 0.0F ? 0.0F : value;  // keeps NaN
      const T kept = static_cast<T>(active * factors[i]);
      static_cast<T*>(work.hidden)[row + column] = kept;
      const float rounded = static_cast<float>(kept);
#pragma unroll
      for (uint32_t output = 0; output < kMostOutputs; ++output)
        if (output < work.shape.num_outputs)
          sums[output] += rounded * work.weight[static_cast<int64_t>(output) * num_columns + column];
    }
  }
  write_outputs(work, sums);
}

struct ColumnSums {
  float weight[kMostOutputs];
  float bias;
};

__device__ void load_gradients(const HeadBackward& work, uint32_t first_row, uint32_t num_rows,
                               float (&gradients)[kRowsOfPart][kMostOutputs]) {
  const uint32_t num_outputs = work.shape.num_outputs;
  for (uint32_t i = threadIdx.y * kLanes + threadIdx.x; i < num_rows * num_outputs; i += kGradientThreads)
    gradients[i / num_outputs][i % num_outputs] =
        work.output_gradient[static_cast<int64_t>(first_row) * num_outputs + i];
  __syncthreads();
}

// Computes a thread's rows of its column: the gradients of the products, and the sums over the rows.
template <class T>
__device__ ColumnSums sum_rows(const HeadBackward& work, uint32_t first_row, uint32_t num_rows, uint32_t column,
                               const float (&gradients)[kRowsOfPart][kMostOutputs]) {
  const uint32_t num_outputs = work.shape.num_outputs;
  const float kept = 1.0F / (1.0F - work.dropout);
  float weight[kMostOutputs];
#pragma unroll
  for (uint32_t i = 0; i < kMostOutputs; ++i)
    weight[i] = i < num_outputs ? work.weight[static_cast<int64_t>(i) * work.shape.num_columns + column] : 0.0F;
  ColumnSums sums = {};
#pragma unroll 4
  for (uint32_t row = threadIdx.y; row < num_rows; row += kWarpsOfGradient) {
    const int64_t place = static_cast<int64_t>(first_row + row) * work.shape.num_columns + column;
    const float value = load<T>(work.hidden, place);
    float gradient = 0;
#pragma unroll
    for (uint32_t i = 0; i < kMostOutputs; ++i)
      if (i < num_outputs) {
        gradient += gradients[row][i] * weight[i];
        sums.weight[i] += gradients[row][i] * value;
      }
    gradient = value > 0.0F ? gradient * kept : 0.0F;
    store<T>(work.product_gradient, place, gradient);
    sums.bias += gradient;
  }
  return sums;
}

// Adds the sums of the block's warps, one sum after the other, and writes them to the block's part.
__device__ void write_sums(const HeadBackward& work, const ColumnSums& sums, uint32_t column) {
  __shared__ float of_warps[kWarpsOfGradient][kMostOutputs + 1][kLanes];
#pragma unroll
  for (uint32_t i = 0; i < kMostOutputs; ++i) of_warps[threadIdx.y][i][threadIdx.x] = sums.weight[i];
  of_warps[threadIdx.y][kMostOutputs][threadIdx.x] = sums.bias;
  __syncthreads();
  const uint32_t num_outputs = work.shape.num_outputs;
  float* part = work.parts + blockIdx.y * num_head_sums(work.shape);
  for (uint32_t i = threadIdx.y; i <= num_outputs; i += kWarpsOfGradient) {
    float sum = 0;
    for (const auto& of_warp : of_warps) sum += of_warp[i < num_outputs ? i : kMostOutputs][threadIdx.x];
    if (column < work.shape.num_columns) part[static_cast<int64_t>(i) * work.shape.num_columns + column] = sum;
  }
}

__device__ void write_output_bias(const HeadBackward& work, uint32_t num_rows,
                                  const float (&gradients)[kRowsOfPart][kMostOutputs]) {
  float* part = work.parts + (blockIdx.y + 1) * num_head_sums(work.shape) - work.shape.num_outputs;
  for (uint32_t output = threadIdx.y; output < work.shape.num_outputs; output += kWarpsOfGradient) {
    float sum = 0;
    for (uint32_t row = threadIdx.x; row < num_rows; row += kLanes) sum += gradients[row][output];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) part[output] = sum;
  }
}

template <class T>
__global__ void __launch_bounds__(kGradientThreads) head_gradient_kernel(const HeadBackward work) {
  wait_for_work_ahead();
  __shared__ float gradients[kRowsOfPart][kMostOutputs];
  const uint32_t first_row = blockIdx.y * kRowsOfPart;
  const uint32_t num_rows = min(kRowsOfPart, work.shape.num_rows - first_row);
  const uint32_t column = blockIdx.x * kLanes + threadIdx.x;
  load_gradients(work, first_row, num_rows, gradients);
  ColumnSums sums = {};
  if (column < work.shape.num_columns) sums = sum_rows<T>(work, first_row, num_rows, column, gradients);
  write_sums(work, sums, column);
  if (blockIdx.x == 0) write_output_bias(work, num_rows, gradients);
}

}  // namespace

void run(const HeadForward& work, cudaStream_t stream) {
  with_cuda_type(work.shape.type, [&](auto element) {
    launch_dependent(head_kernel<decltype(element)>, work.shape.num_rows, kHeadThreads, 0, stream, work);
  });
  require_started("the dense head's kernel", kWithoutImageKernels);
}

void run(const HeadBackward& work, cudaStream_t stream) {
  const dim3 grid((work.shape.num_columns + kLanes - 1) / kLanes, num_head_parts(work.shape.num_rows));
  with_cuda_type(work.shape.type, [&](auto element) {
    launch_dependent(head_gradient_kernel<decltype(element)>, grid, dim3(kLanes, kWarpsOfGradient), 0, stream, work);
  });
  require_started("the dense head's backward kernel", kWithoutImageKernels);
}

namespace {

constexpr uint32_t kWarpsOfSum = 32;

// A block computes 32 sums; each of its warps adds every 32nd part.
__global__ void __launch_bounds__(kLanes* kWarpsOfSum) add_parts_kernel(const AddParts work) {
  wait_for_work_ahead();
  __shared__ float of_warps[kWarpsOfSum][kLanes + 1];
  const uint32_t column = blockIdx.x * kLanes + threadIdx.x;
  float sum = 0;
#pragma unroll 8
  for (uint32_t part = threadIdx.y; part < work.num_parts; part += kWarpsOfSum)
    sum += column < work.size ? work.parts[static_cast<int64_t>(part) * work.size + column] : 0.0F;
  of_warps[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  // From here on a warp has one column, and each lane has the part of one warp.
  const float total = warp_sum(of_warps[threadIdx.x][threadIdx.y]);
  const uint32_t place = blockIdx.x * kLanes + threadIdx.y;
  if (threadIdx.x == 0 && place < work.size) work.sums[place] = total;
}

}  // namespace

void run(const AddParts& work, cudaStream_t stream) {
  launch_dependent(add_parts_kernel, (work.size + kLanes - 1) / kLanes, dim3(kLanes, kWarpsOfSum), 0, stream, work);
  require_started("the kernel that adds up parts", kWithoutImageKernels);
}

}  // namespace rnnlab::kernels
