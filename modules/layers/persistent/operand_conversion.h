// SPDX-License-Identifier: Apache-2.0
// Converts matrices before large products, whose operands have 16 bits. Products are faster with rows of whole vectors,
// so rows may be padded with zeros.
#pragma once

#include <cstdint>

#include "layers/kernels/element_type.h"

struct CUstream_st;

namespace rnnlab::kernels {

// Copies a matrix, with padded rows, in the same or a different type.
struct PaddedRows {
  const void* numbers = nullptr;  // (rows, columns), float32 or of type
  ElementType from = ElementType::kFloat32;
  int64_t rows = 0;
  int64_t columns = 0;
  void* padded = nullptr;                    // (rows, padded_columns) out
  ElementType type = ElementType::kFloat16;  // float16 or bfloat16
  int64_t padded_columns = 0;                // at least `columns`, a multiple of 8
};

// Throws std::invalid_argument for other types, std::runtime_error if the kernel does not start.
void pad_rows(const PaddedRows& work, CUstream_st* stream);

// Copies a float32 matrix as float16, for products at float16's speed with TF32's mantissa. The numbers are multiplied
// by the power of two that brings the largest number near the top of float16's range, so that only magnitudes far below
// the largest are lost.
struct ScaledHalf {
  const float* numbers = nullptr;  // (rows, columns)
  int64_t rows = 0;
  int64_t columns = 0;
  // At least `columns`. If the number is larger, both numbers must be multiples of 4; otherwise rows * columns must be.
  int64_t half_columns = 0;
  void* half = nullptr;        // (rows, half_columns) out: float16
  int32_t* largest = nullptr;  // the bits of the largest magnitude, or 0, which the kernel replaces
  bool knows_largest = false;
  float* unscale = nullptr;  // (2) out: the factor that converts a half to the number, and 0
};

// Throws std::runtime_error if a kernel does not start.
void scale_to_half(const ScaledHalf& work, CUstream_st* stream);

// Changes gates' gradients of backward passes that have exponents (PersistentBackward::exponents), so that all have the
// largest exponent. Nothing is read but exponents if all are the same.
struct CommonExponent {
  void* half = nullptr;                        // (T, B, columns * H) float16, in and out
  int8_t* exponents = nullptr;                 // in; out: the largest where a smaller one was
  const int32_t* largest_exponents = nullptr;  // PersistentBackward::largest_exponent of each pass
  int num_passes = 1;
  int64_t num_steps = 0;
  int64_t batch_size = 0;
  int64_t hidden_size = 0;   // a multiple of kUnitsOfExponent
  int64_t columns = 0;       // numbers of a unit in a row
  float* unscale = nullptr;  // (2) out, as in ScaledHalf
};

// Throws std::runtime_error if the kernel does not start.
void take_common_exponent(const CommonExponent& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
