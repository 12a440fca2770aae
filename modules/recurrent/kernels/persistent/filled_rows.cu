#include "recurrent/kernels/persistent/filled_rows.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdexcept>

#include "recurrent/kernels/persistent/host/launch.h"

namespace rnnlab::kernels {
namespace {

using persistent::blocks_for;
using persistent::kStrideThreads;

constexpr int kVector = 8;  // of 16 bits

// A thread writes a vector at a time.
template <class From, class To>
__global__ void fill_kernel(const From* numbers, int64_t rows, int64_t columns, uint4* filled, int64_t vectors_of_row) {
  const int64_t count = rows * vectors_of_row;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kStrideThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kStrideThreads + threadIdx.x; i < count; i += stride) {
    const int64_t row = i / vectors_of_row, first = (i - row * vectors_of_row) * kVector;
    const From* from = numbers + row * columns;
    alignas(16) To vector[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j)
      vector[j] = static_cast<To>(first + j < columns ? static_cast<float>(from[first + j]) : 0.0f);
    filled[i] = *reinterpret_cast<const uint4*>(vector);
  }
}

template <class From, class To>
void launch(const FilledRows& work, CUstream_st* stream) {
  const int64_t vectors_of_row = work.filled_columns / kVector;
  fill_kernel<From, To><<<blocks_for(work.rows * vectors_of_row), kStrideThreads, 0, stream>>>(
      static_cast<const From*>(work.numbers), work.rows, work.columns, static_cast<uint4*>(work.filled),
      vectors_of_row);
  persistent::check(cudaGetLastError(), "filling up rows");
}

template <class To>
void launch_to(const FilledRows& work, CUstream_st* stream) {
  if (work.from == ElementType::kFloat32) return launch<float, To>(work, stream);
  if (work.from != work.type) throw std::invalid_argument("rows of another type of 16 bits");
  launch<To, To>(work, stream);
}

}  // namespace

void fill_rows(const FilledRows& work, CUstream_st* stream) {
  if (work.type == ElementType::kFloat16) return launch_to<__half>(work, stream);
  if (work.type == ElementType::kBfloat16) return launch_to<__nv_bfloat16>(work, stream);
  throw std::invalid_argument("rows filled up are of 16 bits");
}

}  // namespace rnnlab::kernels
