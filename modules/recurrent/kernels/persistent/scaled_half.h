// A copy of a float32 matrix as float16, for products at float16's speed with TF32's mantissa. The numbers are
// multiplied by the power of two that brings the largest near the top of float16's range, so that only magnitudes far
// below the largest are lost. Rows may be filled up with zeros, because products are faster with whole vectors.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace rnnlab::kernels {

struct ScaledHalf {
  const float* numbers = nullptr;  // (rows, columns)
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t half_columns = 0;    // at least `columns`; where it is more, both are multiples of 4, else rows * columns is
  void* half = nullptr;        // (rows, half_columns) out: float16
  int32_t* largest = nullptr;  // the bits of the largest magnitude, or 0 and room for them
  bool knows_largest = false;
  float* unscale = nullptr;  // (2) out: what a half is multiplied by to give the number, and 0
};

// std::runtime_error if a kernel does not start.
void scale_to_half(const ScaledHalf& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
