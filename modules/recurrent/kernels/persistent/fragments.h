// What a warp does with operands of 16 bits: mma.m16n8k16 with float32 sums, and the transposition of 8 by 8 of them.
#pragma once

#include "recurrent/kernels/persistent/numbers.h"

namespace rnnlab::kernels::persistent {

// From (row, columns 2 * column and one more) of an 8 by 8 matrix to the same place of its transpose.
__device__ inline uint32_t transposed(uint32_t pair) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}

template <class Operand>
__device__ void multiply_add(float (&sum)[4], uint4 a, uint32_t b_low, uint32_t b_high) {
  if constexpr (std::is_same_v<Operand, Half>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b_low), "r"(b_high));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b_low), "r"(b_high));
}

}  // namespace rnnlab::kernels::persistent
