// SPDX-License-Identifier: Apache-2.0
// The whole dense end of a classifier on a GPU, forward and backward in one kernel each: dropout of the values, the
// dense layer with ReLU and dropout, and the output layer. It is for small dense layers, whose products take less time
// than the launches of a library's kernels. Larger ones have the kernels of dense_head.h after a library's product.
// All numbers but the values and their gradients are float32.
#pragma once

#include "train/models/kernels/dense_head.h"

namespace rnnlab::kernels {

// Sizes that the whole end has kernels for.
inline constexpr uint32_t kMostInputsOfEnd = 512;
inline constexpr uint32_t kMostColumnsOfEnd = 64;
inline constexpr uint32_t kMostRowsOfEnd = 1024;

struct EndShape {
  ElementType type = ElementType::kFloat32;  // of values and their gradients; not kFloat64
  uint32_t num_rows = 0;
  uint32_t num_inputs = 0;
  uint32_t num_columns = 0;  // of the dense layer
  uint32_t num_outputs = 0;  // at most kMostOutputs
};

struct DenseEndForward {
  EndShape shape;
  const void* values = nullptr;  // (rows, inputs)
  float input_dropout = 0.0F;    // 0: no dropout
  RandomStart input_random;
  bool* is_kept = nullptr;              // (rows, inputs), or null without dropout of the inputs
  const float* dense_weight = nullptr;  // (columns, inputs)
  const float* dense_bias = nullptr;    // (columns)
  float dropout = 0.0F;
  RandomStart random;
  float* hidden = nullptr;             // (rows, columns)
  const float* weight = nullptr;       // (outputs, columns)
  const float* output_bias = nullptr;  // (outputs)
  float* outputs = nullptr;            // (rows, outputs)
};

struct DenseEndBackward {
  EndShape shape;
  const float* output_gradient = nullptr;  // (rows, outputs)
  const void* values = nullptr;
  float input_dropout = 0.0F;
  const bool* is_kept = nullptr;
  const float* dense_weight = nullptr;
  float dropout = 0.0F;
  const float* hidden = nullptr;
  const float* weight = nullptr;
  void* value_gradient = nullptr;  // (rows, inputs)
  float* parts = nullptr;          // (num_end_parts(), num_end_sums()), to be added by AddParts
};

// A part has these sums: the gradients of the dense layer's weight and bias, of the output weight and of its bias.
constexpr int64_t num_end_sums(const EndShape& shape) {
  return static_cast<int64_t>(shape.num_columns) * (shape.num_inputs + 1 + shape.num_outputs) + shape.num_outputs;
}
inline constexpr uint32_t kRowsOfEndPart = 8;
constexpr uint32_t num_end_parts(uint32_t num_rows) { return (num_rows + kRowsOfEndPart - 1) / kRowsOfEndPart; }

// Queue the work on `stream`. Throw std::runtime_error with CUDA's message if the launch fails.
void run(const DenseEndForward& work, CUstream_st* stream);
void run(const DenseEndBackward& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
