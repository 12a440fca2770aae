// The functions of the cells and their derivatives. Classes of 16 bits take the hardware's own tanh, whose error of
// 5e-4 is a quarter of bfloat16's rounding and float16's own.
#pragma once

#include "recurrent/kernels/persistent/numbers.h"

namespace rnnlab::kernels::persistent {

// To about 1e-6. Where the exponential overflows, its reciprocal is 0, which is right.
struct ByExponential {
  __device__ static float exp2_of(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
  __device__ static float reciprocal(float x) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
  __device__ static float sigmoid(float x) { return reciprocal(1.0f + exp2_of(-1.44269504f * x)); }
  __device__ static float tanh(float x) { return 1.0f - 2.0f * reciprocal(1.0f + exp2_of(2.88539008f * x)); }
};

// To 5e-4 of the value, of sigmoid 2.5e-4.
struct ByHardware {
  __device__ static float tanh(float x) {
    float result;
    asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
  __device__ static float sigmoid(float x) { return 0.5f + 0.5f * tanh(0.5f * x); }
};

template <class Numbers>
using FunctionsOf = std::conditional_t<sizeof(typename Numbers::Value) == 2, ByHardware, ByExponential>;

// Derivatives, from the values.
__device__ inline float sigmoid_slope(float value) { return value * (1.0f - value); }
__device__ inline float tanh_slope(float value) { return 1.0f - value * value; }

}  // namespace rnnlab::kernels::persistent
