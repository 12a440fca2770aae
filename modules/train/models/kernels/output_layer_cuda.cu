// SPDX-License-Identifier: Apache-2.0
// In the forward pass a block computes four outputs of a row, or the only one. In the backward pass a block computes 16
// columns of all rows, so that it has whole sums, which no further kernel needs to add. The bias is one more column,
// whose values are 1.
//
// These kernels wait for memory, and hardly compute. So a thread asks for all that it can before it uses the first
// number: its inner loops are unrolled. Loads have no branch: beyond the end they read the last number, and what comes
// of it is 0 or is not written.
#include "train/models/kernels/output_layer.h"

#include "layers/kernels/launch.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kNumbersOfOutputVector = 4;
constexpr uint32_t kOutputThreads = kLanes * kWarps;  // forward, at most
constexpr uint32_t kFewOutputs = 4;

template <class T, uint32_t kNumbers>
struct alignas(sizeof(T) * kNumbers) OutputVector {
  T numbers[kNumbers];
};

// Reads `kNumbers` numbers at once, from a place that is a multiple of `kNumbers`.
template <class T, uint32_t kNumbers>
__device__ void load_numbers(const void* data, uint32_t place, float (&numbers)[kNumbers]) {
  const auto vector = *reinterpret_cast<const OutputVector<T, kNumbers>*>(static_cast<const T*>(data) + place);
#pragma unroll
  for (uint32_t i = 0; i < kNumbers; ++i) numbers[i] = static_cast<float>(vector.numbers[i]);
}

// Adds the sums of the block's threads and writes them, with the bias, to the outputs from `first` on.
template <uint32_t kOutputs>
__device__ void write_outputs(const OutputForward& work, uint32_t first, float bias, const float (&sums)[kOutputs]) {
  __shared__ float of_warps[kWarps][kOutputs];
  const uint32_t lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
#pragma unroll
  for (uint32_t i = 0; i < kOutputs; ++i) {
    const float sum = warp_sum(sums[i]);
    if (lane == 0) of_warps[warp][i] = sum;
  }
  __syncthreads();
  if (threadIdx.x >= kOutputs || first + threadIdx.x >= work.shape.num_outputs) return;
  float sum = bias;
  for (uint32_t i = 0; i < blockDim.x / kLanes; ++i) sum += of_warps[i][threadIdx.x];
  work.outputs[blockIdx.x * work.shape.num_outputs + first + threadIdx.x] = sum;
}

// kNumbers: those that a thread reads at once. kOutputs: those of a block.
template <class T, uint32_t kNumbers, uint32_t kOutputs>
__global__ void __launch_bounds__(kOutputThreads) output_kernel(const OutputForward work) {
  wait_for_work_ahead();
  const auto [type, num_rows, num_inputs, num_outputs] = work.shape;
  const uint32_t first = blockIdx.y * kOutputs, last = num_outputs - 1;
  const float bias = work.bias[min(first + threadIdx.x, last)];  // of the output that the thread writes, if any
  float sums[kOutputs] = {};
  for (uint32_t column = threadIdx.x * kNumbers; column < num_inputs; column += blockDim.x * kNumbers) {
    float values[kNumbers], weights[kOutputs][kNumbers];
    load_numbers<T>(work.values, blockIdx.x * num_inputs + column, values);
#pragma unroll
    for (uint32_t i = 0; i < kOutputs; ++i)
      load_numbers<float>(work.weight, min(first + i, last) * num_inputs + column, weights[i]);
#pragma unroll
    for (uint32_t i = 0; i < kOutputs; ++i)
#pragma unroll
      for (uint32_t j = 0; j < kNumbers; ++j) sums[i] += values[j] * weights[i][j];
  }
  write_outputs(work, first, bias, sums);
}

// A GPU reads at least 32 bytes, which are 16 numbers of a 16-bit type.
constexpr uint32_t kColumnsOfOutputBlock = 16;
constexpr uint32_t kWarpsOfOutputGradient = 16;
constexpr uint32_t kOutputGradientThreads = kLanes * kWarpsOfOutputGradient;
// Rows of a block at once, of which a thread computes one.
constexpr uint32_t kRowsOfOutputBlock = kOutputGradientThreads / kColumnsOfOutputBlock;
static_assert(2 * kColumnsOfOutputBlock == kLanes && kMostOutputs <= kRowsOfOutputBlock);

// Rows whose numbers a thread reads before it computes; more would not fit into its registers.
template <uint32_t kOutputs>
constexpr uint32_t kOutputRowsOfThread = kOutputs > 1 ? (kOutputs > kFewOutputs ? 2 : 4) : 8;

__device__ uint32_t column_of_thread() {
  return blockIdx.x * kColumnsOfOutputBlock + threadIdx.x % kColumnsOfOutputBlock;
}

// What a thread reads of some rows; rows after the last are 0.
template <uint32_t kOutputs>
struct RowsOfOutput {
  float values[kOutputRowsOfThread<kOutputs>];  // of the thread's column; 1 in the column of the bias
  float gradients[kOutputRowsOfThread<kOutputs>][kOutputs];
};

template <class T, uint32_t kOutputs>
__device__ void load_rows(const OutputBackward& work, uint32_t first_row, RowsOfOutput<kOutputs>& rows) {
  const auto [type, num_rows, num_inputs, num_outputs] = work.shape;
  const uint32_t column = column_of_thread();
#pragma unroll
  for (uint32_t i = 0; i < kOutputRowsOfThread<kOutputs>; ++i) {
    const uint32_t row = first_row + i * kRowsOfOutputBlock, read_row = min(row, num_rows - 1);
    const auto value = static_cast<float>(load<T>(work.values, read_row * num_inputs + min(column, num_inputs - 1)));
    rows.values[i] = row >= num_rows ? 0.0F : column < num_inputs ? value : 1.0F;
#pragma unroll
    for (uint32_t output = 0; output < kOutputs; ++output) {
      const float gradient = work.output_gradient[read_row * num_outputs + min(output, num_outputs - 1)];
      rows.gradients[i][output] = row < num_rows && output < num_outputs ? gradient : 0.0F;
    }
  }
}

template <class T, uint32_t kOutputs>
__device__ void go_back_to_values(const OutputBackward& work, uint32_t first_row, const RowsOfOutput<kOutputs>& rows,
                                  const float (&weight)[kOutputs]) {
  const uint32_t column = column_of_thread();
  if (work.value_gradient == nullptr || column >= work.shape.num_inputs) return;
#pragma unroll
  for (uint32_t i = 0; i < kOutputRowsOfThread<kOutputs>; ++i) {
    const uint32_t row = first_row + i * kRowsOfOutputBlock;
    if (row >= work.shape.num_rows) return;
    float gradient = 0;
#pragma unroll
    for (uint32_t output = 0; output < kOutputs; ++output) gradient += rows.gradients[i][output] * weight[output];
    store<T>(work.value_gradient, row * work.shape.num_inputs + column, gradient);
  }
}

// Computes every 32nd row of the thread's column: the gradients of the values, and the sums over these rows.
template <class T, uint32_t kOutputs>
__device__ void go_back(const OutputBackward& work, float (&sums)[kOutputs]) {
  const auto [type, num_rows, num_inputs, num_outputs] = work.shape;
  const uint32_t column = column_of_thread();
  float weight[kOutputs];
#pragma unroll
  for (uint32_t output = 0; output < kOutputs; ++output) {
    const float number = work.weight[min(output, num_outputs - 1) * num_inputs + min(column, num_inputs - 1)];
    weight[output] = output < num_outputs ? number : 0.0F;
  }
  constexpr uint32_t kStep = kRowsOfOutputBlock * kOutputRowsOfThread<kOutputs>;
  for (uint32_t row = threadIdx.x / kColumnsOfOutputBlock; row < num_rows; row += kStep) {
    RowsOfOutput<kOutputs> rows;
    load_rows<T>(work, row, rows);
    go_back_to_values<T>(work, row, rows, weight);
#pragma unroll
    for (uint32_t i = 0; i < kOutputRowsOfThread<kOutputs>; ++i)
#pragma unroll
      for (uint32_t output = 0; output < kOutputs; ++output) sums[output] += rows.gradients[i][output] * rows.values[i];
  }
}

// Adds the sums of the block's threads and writes them: a thread has one column of one output.
template <uint32_t kOutputs>
__device__ void write_gradients(const OutputBackward& work, const float (&sums)[kOutputs]) {
  __shared__ float of_warps[kWarpsOfOutputGradient][kOutputs][kColumnsOfOutputBlock];
  const uint32_t place = threadIdx.x % kColumnsOfOutputBlock, output = threadIdx.x / kColumnsOfOutputBlock;
#pragma unroll
  for (uint32_t i = 0; i < kOutputs; ++i) {
    const float sum = sums[i] + __shfl_xor_sync(~0U, sums[i], kColumnsOfOutputBlock);  // of both rows of the warp
    if (threadIdx.x % kLanes < kColumnsOfOutputBlock) of_warps[threadIdx.x / kLanes][i][place] = sum;
  }
  __syncthreads();
  if (output >= work.shape.num_outputs) return;
  float sum = 0;
  for (const auto& of_warp : of_warps) sum += of_warp[output][place];
  const uint32_t column = column_of_thread(), num_inputs = work.shape.num_inputs;
  if (column < num_inputs && work.weight_gradient != nullptr) work.weight_gradient[output * num_inputs + column] = sum;
  if (column == num_inputs && work.bias_gradient != nullptr) work.bias_gradient[output] = sum;
}

template <class T, uint32_t kOutputs>
__global__ void __launch_bounds__(kOutputGradientThreads) output_gradient_kernel(const OutputBackward work) {
  wait_for_work_ahead();
  float sums[kOutputs] = {};
  go_back<T>(work, sums);
  write_gradients(work, sums);
}

template <class T>
bool starts_vectors(const T* data) {
  return reinterpret_cast<uintptr_t>(data) % sizeof(OutputVector<T, kNumbersOfOutputVector>) == 0;
}

template <class T>
bool reads_vectors(const OutputForward& work) {
  return work.shape.num_inputs % kNumbersOfOutputVector == 0 && starts_vectors(static_cast<const T*>(work.values)) &&
         starts_vectors(work.weight);
}

template <class T, uint32_t kNumbers>
void launch_output(const OutputForward& work, cudaStream_t stream) {
  const uint32_t num_warps = (work.shape.num_inputs + kLanes * kNumbers - 1) / (kLanes * kNumbers);
  const uint32_t num_threads = kLanes * (num_warps < kWarps ? num_warps : kWarps);
  const auto launch = [&](auto kernel, uint32_t outputs_of_block) {
    const dim3 grid(work.shape.num_rows, (work.shape.num_outputs + outputs_of_block - 1) / outputs_of_block);
    launch_dependent(kernel, grid, num_threads, 0, stream, work);
  };
  if (work.shape.num_outputs == 1) return launch(output_kernel<T, kNumbers, 1>, 1);
  launch(output_kernel<T, kNumbers, kFewOutputs>, kFewOutputs);
}

}  // namespace

void run(const OutputForward& work, cudaStream_t stream) {
  with_cuda_type(work.shape.type, [&](auto element) {
    using T = decltype(element);
    if (reads_vectors<T>(work)) return launch_output<T, kNumbersOfOutputVector>(work, stream);
    launch_output<T, 1>(work, stream);
  });
  require_started("the output layer's kernel");
}

void run(const OutputBackward& work, cudaStream_t stream) {
  const uint32_t num_blocks = work.shape.num_inputs / kColumnsOfOutputBlock + 1;  // of all inputs and the bias
  const auto launch = [&](auto kernel) {
    launch_dependent(kernel, num_blocks, kOutputGradientThreads, 0, stream, work);
  };
  with_cuda_type(work.shape.type, [&](auto element) {
    using T = decltype(element);
    if (work.shape.num_outputs == 1) return launch(output_gradient_kernel<T, 1>);
    if (work.shape.num_outputs <= kFewOutputs) return launch(output_gradient_kernel<T, kFewOutputs>);
    launch(output_gradient_kernel<T, kMostOutputs>);
  });
  require_started("the output layer's backward kernel");
}

}  // namespace rnnlab::kernels
