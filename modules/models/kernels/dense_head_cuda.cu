// SPDX-License-Identifier: Apache-2.0
// In the forward pass a block computes one row. In the backward pass of the head, a block computes 32 columns of a part
// of the rows, and a thread every 16th row of one column; in that of the whole end, a block computes all of a part.
#include "models/kernels/dense_head.h"

#include <c10/util/Exception.h>

#include <ATen/core/PhiloxRNGEngine.h>

#include "recurrent/kernels/launch.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kHeadThreads = kLanes * kWarps;
constexpr uint32_t kWarpsOfGradient = 16;
constexpr uint32_t kGradientThreads = kLanes * kWarpsOfGradient;
constexpr uint32_t kColumnsOfThread = 4;  // these columns share a draw of four random words
constexpr uint32_t kRowsOfPart = kRowsOfHeadPart;

// Draws the factors of a thread's columns in one iteration: 0, or the scale of a kept value.
class Dropout {
 public:
  __device__ Dropout(float dropout, const RandomStart& start)
      : is_on_(dropout > 0.0F), bound_(static_cast<uint32_t>(dropout * 4294967296.0)), kept_(1.0F / (1.0F - dropout)) {
    if (!is_on_) return;
    seed_ = start.seed_on_device == nullptr ? start.seed : static_cast<uint64_t>(*start.seed_on_device);
    offset_ = start.offset;
    if (start.offset_on_device != nullptr) offset_ += static_cast<uint64_t>(*start.offset_on_device);
  }

  __device__ void draw(uint64_t place, float (&factors)[kColumnsOfThread]) const {
    if (!is_on_) {
      for (float& factor : factors) factor = 1.0F;
      return;
    }
    at::Philox4_32 engine(seed_, /*subsequence=*/place, offset_ / kRandomNumbersOfThread);
    for (float& factor : factors) factor = engine() < bound_ ? 0.0F : kept_;
  }

 private:
  bool is_on_;
  uint32_t bound_;
  float kept_;
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;
};

// Adds the sums of the block's threads and writes them to the row of the outputs.
__device__ void write_outputs(const HeadForward& work, const float (&sums)[kMostOutputs]) {
  __shared__ float of_warps[kWarps][kMostOutputs];
  const uint32_t lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  for (uint32_t output = 0; output < kMostOutputs; ++output) {
    if (output >= work.shape.num_outputs) break;
    float sum = sums[output];
    sum = warp_sum(sum);
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

constexpr uint32_t kWarpsOfEnd = 4;  // forward
constexpr uint32_t kEndThreads = kLanes * kWarpsOfEnd;
constexpr uint32_t kColumnsAtOnce = 8;  // of a warp
constexpr uint32_t kInputsAtOnce = kColumnsOfThread;
constexpr uint32_t kDrawsOfLane = kMostInputsOfEnd / kLanes / kInputsAtOnce;
constexpr uint32_t kColumnsOfLane = kMostColumnsOfEnd / kLanes;
constexpr uint32_t kOutputsOfWarp = kMostOutputs / kWarpsOfEnd;
static_assert(kMostColumnsOfEnd <= kEndThreads);

// These kernels wait for memory, and hardly compute. So a thread asks for all that it can before it uses the first
// number: its loops are unrolled, and read 0 beyond the end without a branch.

// The values of a row after dropout, in each warp: lane l has those of the inputs l, l + 32, ...
struct RowOfEnd {
  float values[kDrawsOfLane][kInputsAtOnce];
};

__device__ uint32_t input_of(uint32_t draw, uint32_t i) {
  return threadIdx.x % kLanes + (draw * kInputsAtOnce + i) * kLanes;
}

// All warps draw the same numbers.
template <class T>
__device__ void load_row(const DenseEndForward& work, RowOfEnd& row) {
  const uint32_t num_inputs = work.shape.num_inputs;
  const int64_t place = static_cast<int64_t>(blockIdx.x) * num_inputs;
  const Dropout dropout(work.input_dropout, work.input_random);
#pragma unroll
  for (uint32_t draw = 0; draw < kDrawsOfLane; ++draw) {
    if (input_of(draw, 0) >= num_inputs) break;
    float factors[kInputsAtOnce];
    dropout.draw((static_cast<uint64_t>(blockIdx.x) * kLanes + threadIdx.x % kLanes) * kDrawsOfLane + draw, factors);
#pragma unroll
    for (uint32_t i = 0; i < kInputsAtOnce; ++i) {
      const uint32_t input = input_of(draw, i);
      row.values[draw][i] = input < num_inputs ? load<T>(work.values, place + input) * factors[i] : 0.0F;
      if (work.is_kept != nullptr && threadIdx.x < kLanes && input < num_inputs)
        work.is_kept[place + input] = factors[i] != 0.0F;
    }
  }
}

// Writes the products of the values and the dense layer's weight to `products`. A warp computes every fourth column.
__device__ void multiply_values(const DenseEndForward& work, const RowOfEnd& row,
                                float (&products)[kMostColumnsOfEnd]) {
  const uint32_t num_inputs = work.shape.num_inputs, num_columns = work.shape.num_columns;
  for (uint32_t first = threadIdx.x / kLanes; first < num_columns; first += kWarpsOfEnd * kColumnsAtOnce) {
    float sums[kColumnsAtOnce] = {};
#pragma unroll
    for (uint32_t draw = 0; draw < kDrawsOfLane; ++draw) {
      if (draw * kInputsAtOnce * kLanes >= num_inputs) break;
      float weights[kColumnsAtOnce][kInputsAtOnce];
#pragma unroll
      for (uint32_t i = 0; i < kColumnsAtOnce; ++i)
#pragma unroll
        for (uint32_t j = 0; j < kInputsAtOnce; ++j) {
          const uint32_t column = first + i * kWarpsOfEnd, input = input_of(draw, j);
          const bool is_there = column < num_columns && input < num_inputs;
          weights[i][j] = is_there ? work.dense_weight[column * num_inputs + input] : 0.0F;
        }
#pragma unroll
      for (uint32_t i = 0; i < kColumnsAtOnce; ++i)
#pragma unroll
        for (uint32_t j = 0; j < kInputsAtOnce; ++j)
          if (input_of(draw, j) < num_inputs) sums[i] += row.values[draw][j] * weights[i][j];
    }
#pragma unroll
    for (uint32_t i = 0; i < kColumnsAtOnce; ++i) {
      const float sum = warp_sum(sums[i]);
      const uint32_t column = first + i * kWarpsOfEnd;
      if (threadIdx.x % kLanes == 0 && column < num_columns) products[column] = sum;
    }
  }
}

// What turns the product of a thread's column into a hidden value.
struct ColumnOfEnd {
  float bias = 0;
  float factor = 0;
};

__device__ ColumnOfEnd load_column(const DenseEndForward& work) {
  const uint32_t column = threadIdx.x;
  if (column >= work.shape.num_columns) return {};
  float factors[kColumnsOfThread];
  Dropout(work.dropout, work.random).draw(static_cast<uint64_t>(blockIdx.x) * kMostColumnsOfEnd + column, factors);
  return {work.dense_bias[column], factors[0]};
}

// Replaces the products by hidden values.
__device__ void activate(const DenseEndForward& work, const ColumnOfEnd& of, float (&hidden)[kMostColumnsOfEnd]) {
  const uint32_t column = threadIdx.x;
  if (column >= work.shape.num_columns) return;
  const float value = hidden[column] + of.bias;
  hidden[column] = (value < 0.0F ? 0.0F : value) * of.factor;  // keeps NaN
  work.hidden[static_cast<int64_t>(blockIdx.x) * work.shape.num_columns + column] = hidden[column];
}

// The output layer, of which a warp computes every fourth output.
struct OutputsOfEnd {
  float weights[kOutputsOfWarp][kColumnsOfLane];
  float biases[kOutputsOfWarp];
};

__device__ void load_outputs(const DenseEndForward& work, OutputsOfEnd& of) {
  const uint32_t num_columns = work.shape.num_columns;
#pragma unroll
  for (uint32_t i = 0; i < kOutputsOfWarp; ++i) {
    const uint32_t output = threadIdx.x / kLanes + i * kWarpsOfEnd;
    const bool is_there = output < work.shape.num_outputs;
    of.biases[i] = is_there ? work.output_bias[output] : 0.0F;
#pragma unroll
    for (uint32_t j = 0; j < kColumnsOfLane; ++j) {
      const uint32_t column = threadIdx.x % kLanes + j * kLanes;
      of.weights[i][j] = is_there && column < num_columns ? work.weight[output * num_columns + column] : 0.0F;
    }
  }
}

__device__ void write_outputs(const DenseEndForward& work, const OutputsOfEnd& of,
                              const float (&hidden)[kMostColumnsOfEnd]) {
  const uint32_t num_outputs = work.shape.num_outputs;
#pragma unroll
  for (uint32_t i = 0; i < kOutputsOfWarp; ++i) {
    const uint32_t output = threadIdx.x / kLanes + i * kWarpsOfEnd;
    if (output >= num_outputs) break;
    float sum = 0;
#pragma unroll
    for (uint32_t j = 0; j < kColumnsOfLane; ++j) {
      const uint32_t column = threadIdx.x % kLanes + j * kLanes;
      if (column < work.shape.num_columns) sum += hidden[column] * of.weights[i][j];
    }
    sum = warp_sum(sum);
    if (threadIdx.x % kLanes == 0)
      work.outputs[static_cast<int64_t>(blockIdx.x) * num_outputs + output] = sum + of.biases[i];
  }
}

template <class T>
__global__ void __launch_bounds__(kEndThreads) dense_end_kernel(const DenseEndForward work) {
  wait_for_work_ahead();
  __shared__ float hidden[kMostColumnsOfEnd];
  RowOfEnd row;
  OutputsOfEnd outputs;
  load_row<T>(work, row);
  load_outputs(work, outputs);
  const ColumnOfEnd column = load_column(work);
  multiply_values(work, row, hidden);
  __syncthreads();
  activate(work, column, hidden);
  __syncthreads();
  write_outputs(work, outputs, hidden);
}

constexpr uint32_t kEndGradientThreads = kLanes * kWarps;

// What a block reads of its rows and of the output layer, and the gradients of the dense layer's products. Rows after
// the last are 0.
struct RowsOfEnd {
  float values[kRowsOfEndPart][kMostInputsOfEnd];  // after dropout
  float hidden[kRowsOfEndPart][kMostColumnsOfEnd];
  float output_gradients[kRowsOfEndPart][kMostOutputs];
  float weight[kMostOutputs][kMostColumnsOfEnd];  // of the output layer
  alignas(16) float gradients[kMostColumnsOfEnd][kRowsOfEndPart];
};

// Returns the factor of a value: 0, or the scale of a kept one.
__device__ float factor_of(const DenseEndBackward& work, int64_t place) {
  const bool is_dropped = work.is_kept != nullptr && !work.is_kept[place];
  return is_dropped ? 0.0F : 1.0F / (1.0F - work.input_dropout);
}

// Sets numbers of `num_rows` rows of `num_columns`: a thread those of every 256th place. load(row, column): of a
// number.
template <uint32_t kAtOnce, uint32_t kColumns, class Load>
__device__ void load_all(float (*numbers)[kColumns], uint32_t num_rows, uint32_t num_columns, const Load& load) {
#pragma unroll kAtOnce
  for (uint32_t i = threadIdx.x; i < num_rows * num_columns; i += kEndGradientThreads)
    numbers[i / num_columns][i % num_columns] = load(i / num_columns, i % num_columns);
}

template <class T>
__device__ void load_rows(const DenseEndBackward& work, RowsOfEnd& rows) {
  const auto [type, num_rows, num_inputs, num_columns, num_outputs] = work.shape;
  const uint32_t first_row = blockIdx.x * kRowsOfEndPart;
  const auto is_there = [&](uint32_t row) { return first_row + row < num_rows; };
  const auto place = [&](uint32_t row, uint32_t size, uint32_t column) {
    return static_cast<int64_t>(first_row + row) * size + column;
  };
  load_all<4>(rows.values, kRowsOfEndPart, num_inputs, [&](uint32_t row, uint32_t input) {
    const int64_t of_value = place(row, num_inputs, input);
    return is_there(row) ? load<T>(work.values, of_value) * factor_of(work, of_value) : 0.0F;
  });
  load_all<2>(rows.hidden, kRowsOfEndPart, num_columns, [&](uint32_t row, uint32_t column) {
    return is_there(row) ? work.hidden[place(row, num_columns, column)] : 0.0F;
  });
  load_all<1>(rows.output_gradients, kRowsOfEndPart, num_outputs, [&](uint32_t row, uint32_t output) {
    return is_there(row) ? work.output_gradient[place(row, num_outputs, output)] : 0.0F;
  });
  load_all<4>(rows.weight, num_outputs, num_columns,
              [&](uint32_t output, uint32_t column) { return work.weight[output * num_columns + column]; });
}

// The gradients of the dense layer's products.
__device__ void go_back_to_products(const DenseEndBackward& work, RowsOfEnd& rows) {
  const uint32_t num_columns = work.shape.num_columns;
  const float kept = 1.0F / (1.0F - work.dropout);
  for (uint32_t i = threadIdx.x; i < kRowsOfEndPart * num_columns; i += kEndGradientThreads) {
    const uint32_t row = i / num_columns, column = i % num_columns;
    float gradient = 0;
#pragma unroll
    for (uint32_t output = 0; output < kMostOutputs; ++output)
      if (output < work.shape.num_outputs) gradient += rows.output_gradients[row][output] * rows.weight[output][column];
    rows.gradients[column][row] = rows.hidden[row][column] > 0.0F ? gradient * kept : 0.0F;
  }
}

// Adds gradients of the products, times `factor`, to the sums of the rows.
__device__ void add_rows(float (&sums)[kRowsOfEndPart], const float (&gradients)[kRowsOfEndPart], float factor) {
  const auto* vectors = reinterpret_cast<const float4*>(gradients);
#pragma unroll
  for (uint32_t i = 0; i < kRowsOfEndPart / 4; ++i) {
    const float4 vector = vectors[i];
    sums[4 * i] += vector.x * factor;
    sums[4 * i + 1] += vector.y * factor;
    sums[4 * i + 2] += vector.z * factor;
    sums[4 * i + 3] += vector.w * factor;
  }
}

// A thread computes an input of all rows.
template <class T>
__device__ void go_back_to_values(const DenseEndBackward& work, const RowsOfEnd& rows) {
  const auto [type, num_rows, num_inputs, num_columns, num_outputs] = work.shape;
  const uint32_t first_row = blockIdx.x * kRowsOfEndPart;
  for (uint32_t input = threadIdx.x; input < num_inputs; input += kEndGradientThreads) {
    float sums[kRowsOfEndPart] = {};
#pragma unroll 32
    for (uint32_t column = 0; column < num_columns; ++column)
      add_rows(sums, rows.gradients[column], work.dense_weight[column * num_inputs + input]);
#pragma unroll
    for (uint32_t row = 0; row < kRowsOfEndPart; ++row) {
      if (first_row + row >= num_rows) break;
      const int64_t place = static_cast<int64_t>(first_row + row) * num_inputs + input;
      store<T>(work.value_gradient, place, sums[row] * factor_of(work, place));
    }
  }
}

// Returns the sum over the rows.
__device__ float sum_over_rows(const float (&gradients)[kRowsOfEndPart], const float (&factors)[kRowsOfEndPart]) {
  float sum = 0;
#pragma unroll
  for (uint32_t row = 0; row < kRowsOfEndPart; ++row) sum += gradients[row] * factors[row];
  return sum;
}

// Writes the part's sums. A warp has every eighth column of the dense layer's weight.
__device__ void write_sums(const DenseEndBackward& work, const RowsOfEnd& rows) {
  const auto [type, num_rows, num_inputs, num_columns, num_outputs] = work.shape;
  float* weight = work.parts + blockIdx.x * num_end_sums(work.shape);
  for (uint32_t input = threadIdx.x % kLanes; input < num_inputs; input += kLanes) {
    float values[kRowsOfEndPart];
#pragma unroll
    for (uint32_t row = 0; row < kRowsOfEndPart; ++row) values[row] = rows.values[row][input];
    for (uint32_t column = threadIdx.x / kLanes; column < num_columns; column += kWarps)
      weight[column * num_inputs + input] = sum_over_rows(rows.gradients[column], values);
  }
  float* bias = weight + num_columns * num_inputs;
  constexpr float kOnes[kRowsOfEndPart] = {1, 1, 1, 1, 1, 1, 1, 1};
  for (uint32_t column = threadIdx.x; column < num_columns; column += kEndGradientThreads)
    bias[column] = sum_over_rows(rows.gradients[column], kOnes);
  float* output_weight = bias + num_columns;
  for (uint32_t i = threadIdx.x; i < num_outputs * num_columns; i += kEndGradientThreads) {
    float sum = 0;
#pragma unroll
    for (uint32_t row = 0; row < kRowsOfEndPart; ++row)
      sum += rows.output_gradients[row][i / num_columns] * rows.hidden[row][i % num_columns];
    output_weight[i] = sum;
  }
  float* output_bias = output_weight + num_outputs * num_columns;
  if (threadIdx.x >= num_outputs) return;
  float sum = 0;
  for (uint32_t row = 0; row < kRowsOfEndPart; ++row) sum += rows.output_gradients[row][threadIdx.x];
  output_bias[threadIdx.x] = sum;
}

template <class T>
__global__ void __launch_bounds__(kEndGradientThreads) dense_end_gradient_kernel(const DenseEndBackward work) {
  wait_for_work_ahead();
  __shared__ RowsOfEnd rows;
  load_rows<T>(work, rows);
  __syncthreads();
  go_back_to_products(work, rows);
  __syncthreads();
  go_back_to_values<T>(work, rows);
  write_sums(work, rows);
}

}  // namespace

void run(const DenseEndForward& work, cudaStream_t stream) {
  with_cuda_type(work.shape.type, [&](auto element) {
    launch_dependent(dense_end_kernel<decltype(element)>, work.shape.num_rows, kEndThreads, 0, stream, work);
  });
  require_started("the dense end's kernel");
}

void run(const DenseEndBackward& work, cudaStream_t stream) {
  with_cuda_type(work.shape.type, [&](auto element) {
    launch_dependent(dense_end_gradient_kernel<decltype(element)>, num_end_parts(work.shape.num_rows),
                     kEndGradientThreads, 0, stream, work);
  });
  require_started("the dense end's backward kernel");
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
  float total = of_warps[threadIdx.x][threadIdx.y];  // From here on a warp has one column, and each lane has the part
                                                     // of one warp.
  total = warp_sum(total);
  const uint32_t place = blockIdx.x * kLanes + threadIdx.y;
  if (threadIdx.x == 0 && place < work.size) work.sums[place] = total;
}

}  // namespace

void run(const AddParts& work, cudaStream_t stream) {
  launch_dependent(add_parts_kernel, (work.size + kLanes - 1) / kLanes, dim3(kLanes, kWarpsOfSum), 0, stream, work);
  require_started("the kernel that adds up parts", kWithoutImageKernels);
}

}  // namespace rnnlab::kernels
