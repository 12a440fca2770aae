// A copy of a matrix whose rows are filled up with zeros, in the same or a different type of numbers: products are
// faster with rows of whole vectors of 16 bits.
#pragma once

#include <cstdint>

#include "recurrent/kernels/element_type.h"

struct CUstream_st;

namespace rnnlab::kernels {

struct FilledRows {
  const void* numbers = nullptr;  // (rows, columns), float32 or of type
  ElementType from = ElementType::kFloat32;
  int64_t rows = 0;
  int64_t columns = 0;
  void* filled = nullptr;                    // (rows, filled_columns) out
  ElementType type = ElementType::kFloat16;  // float16 or bfloat16
  int64_t filled_columns = 0;                // at least `columns`, a multiple of 8
};

// std::invalid_argument for other types, std::runtime_error if the kernel does not start.
void fill_rows(const FilledRows& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
