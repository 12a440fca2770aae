// SPDX-License-Identifier: Apache-2.0
// The output layer of a sequence model on a GPU, forward and backward in one kernel each: outputs = values weight^T +
// bias, for few outputs. A library has several launches each way: casts, the bias, a product in parts and their sum.
// Products and sums are in float32 for every type of the values, and in the same order for the same sizes and
// alignment. Dropout of the values is the caller's.
#pragma once

#include <cstdint>

#include "train/models/kernels/dense_head.h"

namespace rnnlab::kernels {

// Sizes that have kernels: those for which the launches take longer than the sums. A thread of the backward pass adds
// every 32nd row, one after the other. The number of products bounds what blocks read again of weights and gradients.
inline constexpr uint32_t kMostRowsOfOutput = 1024;
inline constexpr uint32_t kMostInputsOfOutput = 4096;
inline constexpr uint32_t kMostProductsOfOutput = 1U << 22;

struct OutputShape {
  ElementType type = ElementType::kFloat32;  // of values and their gradients; not kFloat64
  uint32_t num_rows = 0;
  uint32_t num_inputs = 0;
  uint32_t num_outputs = 0;  // at most kMostOutputs
};

struct OutputForward {
  OutputShape shape;
  const void* values = nullptr;   // (rows, inputs)
  const float* weight = nullptr;  // (outputs, inputs)
  const float* bias = nullptr;    // (outputs)
  float* outputs = nullptr;       // (rows, outputs)
};

// Each gradient may be null, which leaves it out.
struct OutputBackward {
  OutputShape shape;
  const float* output_gradient = nullptr;  // (rows, outputs)
  const void* values = nullptr;
  const float* weight = nullptr;
  void* value_gradient = nullptr;    // (rows, inputs)
  float* weight_gradient = nullptr;  // (outputs, inputs)
  float* bias_gradient = nullptr;    // (outputs)
};

// Queue the work on `stream`. Throw std::runtime_error with CUDA's message if the launch fails.
void run(const OutputForward& work, CUstream_st* stream);
void run(const OutputBackward& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
