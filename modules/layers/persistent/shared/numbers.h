// SPDX-License-Identifier: Apache-2.0
// Arithmetic on single numbers: conversions between float32 and operands of 16 bits, and the activation functions of
// the cells with their derivatives, all by PTX of compute capability 8.0 and later. Left out: products
// (fragments.h, grid/weights.h).
#pragma once

#include <cstdint>

#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

// Conversions.

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(Half value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
__device__ inline float to_float(Bfloat value) { return __uint_as_float(static_cast<uint32_t>(value.bits) << 16); }

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

// Two numbers as operands in one word.
template <class Operand>
__device__ uint32_t pack(float low, float high) {
  uint32_t both;
  if constexpr (std::is_same_v<Operand, Half>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// The bits of a number with TF32's mantissa.
__device__ inline uint32_t rounded_to_tf32(float value) {
  uint32_t result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(value));
  return result;
}

// Packs part `part` of two numbers: part 0 is the number rounded to an operand, part 1 the error of that rounding.
template <class Operand>
__device__ uint32_t pack_part(int part, float low, float high) {
  if (part == 0) return pack<Operand>(low, high);
  return pack<Operand>(low - to_float(from_float<Operand>(low)), high - to_float(from_float<Operand>(high)));
}

// The exponent of a number, at least -110. magnitude: the bits of its absolute value.
__device__ inline int exponent_of(uint32_t magnitude) { return max(static_cast<int>(magnitude >> 23) - 127, -110); }

// Two to the power of -126 to 127.
__device__ inline float power_of_two(int exponent) {
  return __uint_as_float(static_cast<uint32_t>(127 + exponent) << 23);
}

// The power of two that brings a gradient near the top of float16's range. magnitude: the bits of the gradient's
// absolute value.
__device__ inline float scale_for_half(uint32_t magnitude) { return power_of_two(13 - exponent_of(magnitude)); }

__device__ inline float minus_infinity() { return __uint_as_float(0xFF800000u); }

// Activation functions and their derivatives.

// Their error is about 1e-6. If the exponential overflows, its reciprocal is 0, which is the right value.
struct ByExponential {
  __device__ static float exp2_of(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
  __device__ static float log2_of(float x) {
    float result;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
  __device__ static float reciprocal(float x) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
  __device__ static float exp(float x) { return exp2_of(1.44269504f * x); }
  __device__ static float sigmoid(float x) { return reciprocal(1.0f + exp(-x)); }
  __device__ static float tanh(float x) { return 1.0f - 2.0f * reciprocal(1.0f + exp2_of(2.88539008f * x)); }
};

// The hardware's own tanh, whose error of 5e-4 is a quarter of bfloat16's rounding and as large as float16's. The error
// of sigmoid is half of that.
struct ByHardware {
  __device__ static float tanh(float x) {
    float result;
    asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
  __device__ static float sigmoid(float x) { return 0.5f + 0.5f * tanh(0.5f * x); }
};

// The classes of 16 bits take the hardware's functions.
template <class Numbers>
using FunctionsOf = std::conditional_t<sizeof(typename Numbers::Value) == 2, ByHardware, ByExponential>;

// Derivatives, computed from the function's value.
__device__ inline float sigmoid_slope(float value) { return value * (1.0f - value); }
__device__ inline float tanh_slope(float value) { return 1.0f - value * value; }

}  // namespace rnnlab::kernels::persistent
