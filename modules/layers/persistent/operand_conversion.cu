// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/operand_conversion.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>

#include "layers/persistent/host/persistent_kernels.h"
#include "layers/persistent/shared/numbers.h"
#include "layers/persistent/shared/passes.h"

namespace rnnlab::kernels {
namespace {

constexpr int kStrideThreads = 256;  // threads of a block whose grid covers many vectors in strides

unsigned blocks_for(int64_t vectors) {
  constexpr int64_t kMostBlocks = 1056;  // 8 for each SM of an H200
  return static_cast<unsigned>(std::clamp<int64_t>((vectors + kStrideThreads - 1) / kStrideThreads, 1, kMostBlocks));
}

constexpr int kVector = 8;  // of 16 bits

// A thread writes a vector at a time.
template <class From, class To>
__global__ void pad_kernel(const From* numbers, int64_t rows, int64_t columns, uint4* padded, int64_t vectors_of_row) {
  wait_for_work_ahead();
  const int64_t count = rows * vectors_of_row;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kStrideThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kStrideThreads + threadIdx.x; i < count; i += stride) {
    const int64_t row = i / vectors_of_row, first = (i - row * vectors_of_row) * kVector;
    const From* from = numbers + row * columns;
    alignas(16) To vector[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j)
      vector[j] = static_cast<To>(first + j < columns ? static_cast<float>(from[first + j]) : 0.0f);
    padded[i] = *reinterpret_cast<const uint4*>(vector);
  }
}

template <class From, class To>
void launch_padding(const PaddedRows& work, CUstream_st* stream) {
  const int64_t vectors_of_row = work.padded_columns / kVector;
  launch_dependent(pad_kernel<From, To>, blocks_for(work.rows * vectors_of_row), kStrideThreads, 0, stream,
                   static_cast<const From*>(work.numbers), work.rows, work.columns, static_cast<uint4*>(work.padded),
                   vectors_of_row);
  persistent::check(cudaGetLastError(), "padding rows");
}

template <class To>
void launch_padding_to(const PaddedRows& work, CUstream_st* stream) {
  if (work.from == ElementType::kFloat32) return launch_padding<float, To>(work, stream);
  if (work.from != work.type)
    throw std::invalid_argument("padding rows converts only from float32 or the result's type");
  launch_padding<To, To>(work, stream);
}

}  // namespace

void pad_rows(const PaddedRows& work, CUstream_st* stream) {
  if (work.type == ElementType::kFloat16) return launch_padding_to<__half>(work, stream);
  if (work.type == ElementType::kBfloat16) return launch_padding_to<__nv_bfloat16>(work, stream);
  throw std::invalid_argument("padded rows must have a 16-bit type");
}

namespace {

using persistent::exponent_of;
using persistent::power_of_two;

// The magnitude, or 0 for infinity and NaN: they stay what they are at any scale, and must not change the scale of
// others.
__device__ float finite(float number) { return isfinite(number) ? fabsf(number) : 0.0f; }

// The largest of a whole warp. GPUs of compute capability 8.0 and later have an instruction for it.
__device__ int32_t largest_of_warp(int32_t of_thread) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(~0u, of_thread);
#else
  for (int lanes = 16; lanes > 0; lanes /= 2) of_thread = max(of_thread, __shfl_xor_sync(~0u, of_thread, lanes));
  return of_thread;
#endif
}

__global__ void largest_kernel(const float4* numbers, int64_t count, int32_t* largest) {
  wait_for_work_ahead();
  float of_thread = 0.0f;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kStrideThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kStrideThreads + threadIdx.x; i < count; i += stride) {
    const float4 four = numbers[i];
    of_thread = fmaxf(of_thread, fmaxf(fmaxf(finite(four.x), finite(four.y)), fmaxf(finite(four.z), finite(four.w))));
  }
  // The bits of numbers that are not negative are in the order of the numbers.
  const int32_t of_warp = largest_of_warp(__float_as_int(of_thread));
  if (threadIdx.x % 32 == 0 && of_warp > *largest) atomicMax(largest, of_warp);
}

// The vectors of 4 numbers in a row, before and after.
struct RowsOfVectors {
  int64_t from, to;
};

// count: vectors of the result.
template <bool kPads>
__global__ void half_kernel(const float4* numbers, int64_t count, RowsOfVectors rows, uint2* half,
                            const int32_t* largest, float* unscale) {
  wait_for_work_ahead();
  // 2^13 leaves room above, and 27 powers of two below before precision goes.
  const int exponent = min(exponent_of(static_cast<uint32_t>(*largest)), 127);  // 127 for infinity
  const float scale = power_of_two(13 - exponent);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    unscale[0] = power_of_two(exponent - 13);
    unscale[1] = 0.0f;
  }
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kStrideThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kStrideThreads + threadIdx.x; i < count; i += stride) {
    float4 four = {};
    if constexpr (kPads) {
      const int64_t row = i / rows.to, column = i - row * rows.to;
      if (column < rows.from) four = numbers[row * rows.from + column];
    } else {
      four = numbers[i];
    }
    const __half2 low = __floats2half2_rn(four.x * scale, four.y * scale);
    const __half2 high = __floats2half2_rn(four.z * scale, four.w * scale);
    half[i] = make_uint2(*reinterpret_cast<const uint32_t*>(&low), *reinterpret_cast<const uint32_t*>(&high));
  }
}

}  // namespace

void scale_to_half(const ScaledHalf& work, CUstream_st* stream) {
  const auto* numbers = reinterpret_cast<const float4*>(work.numbers);
  const int64_t vectors = work.rows * work.columns / 4;
  if (!work.knows_largest)
    launch_dependent(largest_kernel, blocks_for(vectors), kStrideThreads, 0, stream, numbers, vectors, work.largest);
  const int64_t half_vectors = work.rows * work.half_columns / 4;
  const auto kernel = work.half_columns > work.columns ? half_kernel<true> : half_kernel<false>;
  launch_dependent(kernel, blocks_for(half_vectors), kStrideThreads, 0, stream, numbers, half_vectors,
                   RowsOfVectors{work.columns / 4, work.half_columns / 4}, static_cast<uint2*>(work.half), work.largest,
                   work.unscale);
  persistent::check(cudaGetLastError(), "scaling to float16");
}

namespace {

__device__ uint4 times(uint4 halves, float factor) {
  auto* pairs = reinterpret_cast<__half2*>(&halves);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __half22float2(pairs[i]);
    pairs[i] = __floats2half2_rn(pair.x * factor, pair.y * factor);
  }
  return halves;
}

// 0 if all numbers are 0.
__device__ int largest_exponent(const CommonExponent& work) {
  int largest = 0;
  for (int i = 0; i < work.num_passes; ++i) largest = max(largest, work.largest_exponents[i]);
  return largest == 0 ? 0 : largest - kExponentBias;
}

constexpr int kExponentThreads = 128;

// A block processes kSequencesOfExponent sequences in one step. A thread processes their gradients of kUnitsOfExponent
// units, which have one exponent in the table and are one vector in each column.
__global__ void common_exponent_kernel(const CommonExponent work) {
  static_assert(kUnitsOfExponent == kVector);
  wait_for_work_ahead();
  const int64_t groups = (work.batch_size + kSequencesOfExponent - 1) / kSequencesOfExponent;
  const int64_t step = blockIdx.x / groups, first = blockIdx.x % groups * kSequencesOfExponent;
  const int common = largest_exponent(work);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    work.unscale[0] = power_of_two(common);
    work.unscale[1] = 0.0f;
  }
  const int64_t vectors = work.hidden_size / kUnitsOfExponent;
  for (int64_t i = threadIdx.x; i < vectors; i += kExponentThreads) {
    int8_t* place = work.exponents + blockIdx.x * vectors + i;
    const int exponent = *place;
    if (exponent >= common) continue;  // the same, or of numbers that are all 0
    *place = static_cast<int8_t>(common);
    const float factor = power_of_two(max(exponent - common, -126));  // not 0, by which infinity would become NaN
    uint4* half = static_cast<uint4*>(work.half) + (step * work.batch_size + first) * work.columns * vectors + i;
    const int64_t num_sequences = min(int64_t{kSequencesOfExponent}, work.batch_size - first);
    for (int64_t j = 0; j < num_sequences * work.columns; ++j) half[j * vectors] = times(half[j * vectors], factor);
  }
}

}  // namespace

void take_common_exponent(const CommonExponent& work, CUstream_st* stream) {
  const int64_t groups = (work.batch_size + kSequencesOfExponent - 1) / kSequencesOfExponent;
  launch_dependent(common_exponent_kernel, static_cast<unsigned>(work.num_steps * groups), kExponentThreads, 0, stream,
                   work);
  persistent::check(cudaGetLastError(), "a common exponent");
}

}  // namespace rnnlab::kernels
