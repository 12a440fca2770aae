// SPDX-License-Identifier: Apache-2.0
// The dense end of a classifier on a GPU, forward and backward in one kernel each: the operations after the product of
// the last dense layer (bias, ReLU, dropout), and the output layer. A library's matrix product for ten classes uses
// only four multiprocessors. Sums are in float32, for every type of the dense layer's product; outputs are in float32.
#pragma once

#include <cstdint>

#include "layers/kernels/element_type.h"

struct CUstream_st;  // cudaStream_t is a pointer to this type

namespace rnnlab::kernels {

inline constexpr uint32_t kMostOutputs = 16;

struct HeadShape {
  ElementType type = ElementType::kFloat32;  // of products and hidden values; not kFloat64
  uint32_t num_rows = 0;
  uint32_t num_columns = 0;  // of the dense layer
  uint32_t num_outputs = 0;  // at most kMostOutputs
};

// The start of Philox random numbers. In a CUDA graph, seed and offset are on the device and change with every replay.
struct RandomStart {
  uint64_t seed = 0;
  uint64_t offset = 0;  // added to the value of offset_on_device
  const int64_t* seed_on_device = nullptr;
  const int64_t* offset_on_device = nullptr;
};

// Random numbers of one thread; the generator's offset advances by this number.
inline constexpr uint64_t kRandomNumbersOfThread = 4;

struct HeadForward {
  HeadShape shape;
  const void* products = nullptr;  // (rows, columns), without the bias
  const float* bias = nullptr;     // (columns)
  float dropout = 0.0F;            // 0: no dropout
  RandomStart random;
  void* hidden = nullptr;              // (rows, columns)
  const float* weight = nullptr;       // (outputs, columns)
  const float* output_bias = nullptr;  // (outputs)
  float* outputs = nullptr;            // (rows, outputs)
};

struct HeadBackward {
  HeadShape shape;
  const float* output_gradient = nullptr;  // (rows, outputs)
  const void* hidden = nullptr;
  const float* weight = nullptr;
  float dropout = 0.0F;
  void* product_gradient = nullptr;  // (rows, columns)
  float* parts = nullptr;            // (num_head_parts(), num_head_sums()), to be added by AddParts
};

// A part has these sums: the gradients of the weight, of the dense layer's bias and of the output bias.
constexpr int64_t num_head_sums(const HeadShape& shape) {
  return static_cast<int64_t>(shape.num_columns) * (shape.num_outputs + 1) + shape.num_outputs;
}
inline constexpr uint32_t kRowsOfHeadPart = 128;
constexpr uint32_t num_head_parts(uint32_t num_rows) { return (num_rows + kRowsOfHeadPart - 1) / kRowsOfHeadPart; }

// Adds the rows of a matrix in a fixed order, as the last step of sums of which each block computed a part.
struct AddParts {
  const float* parts = nullptr;  // (num_parts, size)
  uint32_t num_parts = 0;
  uint32_t size = 0;
  float* sums = nullptr;  // (size)
};

// Queue the work on `stream`. Throw std::runtime_error with CUDA's message if the launch fails.
void run(const HeadForward& work, CUstream_st* stream);
void run(const HeadBackward& work, CUstream_st* stream);
void run(const AddParts& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
