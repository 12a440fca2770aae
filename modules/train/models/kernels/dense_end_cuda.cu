// SPDX-License-Identifier: Apache-2.0
// In the forward pass a block computes one row. In the backward pass a block computes a part of the rows.
#include "train/models/kernels/dense_end.h"

#include "layers/kernels/launch.h"
#include "train/models/kernels/dropout_cuda.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kWarpsOfEnd = 4;  // forward
constexpr uint32_t kEndThreads = kLanes * kWarpsOfEnd;
constexpr uint32_t kColumnsAtOnce = 8;  // of a warp
constexpr uint32_t kInputsAtOnce = kNumbersOfDraw;
constexpr uint32_t kDrawsOfLane = kMostInputsOfEnd / kLanes / kInputsAtOnce;
constexpr uint32_t kColumnsOfLane = kMostColumnsOfEnd / kLanes;
constexpr uint32_t kOutputsOfWarp = kMostOutputs / kWarpsOfEnd;
static_assert(kMostColumnsOfEnd <= kEndThreads);

// These kernels wait for memory, and hardly compute. So a thread asks for all that it can before it uses the first
// number: its inner loops are unrolled, and read 0 beyond the end without a branch.

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
  float factors[kNumbersOfDraw];
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
  for (uint32_t column = threadIdx.x; column < num_columns; column += kEndGradientThreads) {
    float sum = 0;
    for (const float gradient : rows.gradients[column]) sum += gradient;
    bias[column] = sum;
  }
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

}  // namespace rnnlab::kernels
