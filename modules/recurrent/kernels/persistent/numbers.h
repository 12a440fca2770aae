// Conversions between float32 and the operands of 16 bits (number_types.h), by PTX of compute capability 9.0 and later.
#pragma once

#include "recurrent/kernels/persistent/number_types.h"

namespace rnnlab::kernels::persistent {

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(Half value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
__device__ inline float to_float(Bfloat value) {
  float result;
  asm("cvt.f32.bf16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}

template <class T>
__device__ T from_float(float value) {
  if constexpr (sizeof(T) == 4) {
    return value;
  } else {
    T result;
    if constexpr (std::is_same_v<T, Half>)
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    else
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
}

template <class Operand>
__device__ uint32_t pack(float low, float high) {
  uint32_t both;
  if constexpr (std::is_same_v<Operand, Half>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// Part 0 of two factors is what they round to, part 1 what rounding left.
template <class Operand>
__device__ uint32_t pack_part(int part, float low, float high) {
  if (part == 0) return pack<Operand>(low, high);
  return pack<Operand>(low - to_float(from_float<Operand>(low)), high - to_float(from_float<Operand>(high)));
}

}  // namespace rnnlab::kernels::persistent
