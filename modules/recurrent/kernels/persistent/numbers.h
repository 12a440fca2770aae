// The classes of precision: what a layer's tensors hold, and what the factors of its recurrent products are rounded to.
// Sums, activations, cell states and gradients of states are float32 in all of them, but for sums on their way through
// L2 (grid_parcel.h).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace rnnlab::kernels::persistent {

// A factor is kParts operands of 16 bits that add up to it.
template <class ValueOf, class OperandOf, int kPartsOf>
struct Numbers {
  using Value = ValueOf;
  using Operand = OperandOf;
  static constexpr int kParts = kPartsOf;
  // Gradients are scaled: float16 has little range, bfloat16 that of float32.
  static constexpr bool kIsScaled = std::is_same_v<Operand, __half>;
};

using Float16 = Numbers<__half, __half, 1>;
using Bfloat16 = Numbers<__nv_bfloat16, __nv_bfloat16, 1>;
using Tf32 = Numbers<float, __half, 1>;     // float16 has TF32's mantissa
using Float32 = Numbers<float, __half, 2>;  // and two of them 22 of float32's 24 bits

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
__device__ T from_float(float value) {
  if constexpr (sizeof(T) == 4) return value;
  if constexpr (std::is_same_v<T, __half>) return __float2half(value);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(value);
}

template <class Operand>
__device__ uint32_t pack(float low, float high) {
  if constexpr (std::is_same_v<Operand, __half>) {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&both);
  } else {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&both);
  }
}

// Part 0 of two factors is what they round to, part 1 what rounding left.
template <class Operand>
__device__ uint32_t pack_part(int part, float low, float high) {
  if (part == 0) return pack<Operand>(low, high);
  return pack<Operand>(low - to_float(from_float<Operand>(low)), high - to_float(from_float<Operand>(high)));
}

}  // namespace rnnlab::kernels::persistent
