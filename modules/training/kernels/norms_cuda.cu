#include "training/kernels/norms.h"
#include "training/kernels/work_list.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kLanes = 32;
constexpr int kOfThread = kPiece / kThreadsOfPiece;

// Returns the sum over the block in thread 0.
__device__ float block_sum(float value) {
  __shared__ float sums[kThreadsOfPiece / kLanes];
  for (uint32_t lanes = kLanes / 2; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0U, value, lanes);
  if (threadIdx.x % kLanes == 0) sums[threadIdx.x / kLanes] = value;
  __syncthreads();
  if (threadIdx.x != 0) return 0.0F;
  for (uint32_t warp = 1; warp < kThreadsOfPiece / kLanes; ++warp) value += sums[warp];
  return value;
}

__global__ void __launch_bounds__(kThreadsOfPiece)
    squares_kernel(const __grid_constant__ WorkList<NormTensor> list, float* parts) {
  const uint32_t number = list.tensor_of(blockIdx.x);
  const NormTensor& tensor = list.tensors[number];
  const int64_t first = static_cast<int64_t>(blockIdx.x - list.first_block[number]) * kPiece + threadIdx.x;
  float values[kOfThread];
#pragma unroll
  for (int i = 0; i < kOfThread; ++i) {
    const int64_t place = first + i * static_cast<int64_t>(kThreadsOfPiece);
    values[i] = place < tensor.size ? tensor.values[place] : 0.0F;
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kOfThread; ++i) sum += values[i] * values[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// Each block computes the norm of one tensor.
__global__ void __launch_bounds__(kThreadsOfPiece)
    roots_kernel(const __grid_constant__ WorkList<NormTensor> list, const float* parts, float* norms) {
  float sum = 0;
  for (uint32_t i = list.first_block[blockIdx.x] + threadIdx.x; i < list.first_block[blockIdx.x + 1];
       i += kThreadsOfPiece)
    sum += parts[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) norms[blockIdx.x] = sqrtf(sum);
}

}  // namespace

void run(const Norms& work, cudaStream_t stream) {
  float* parts = work.parts;
  float* norms = work.norms;
  for_each_list(work.tensors, [&](const WorkList<NormTensor>& list) {
    if (list.num_blocks() > 0) squares_kernel<<<list.num_blocks(), kThreadsOfPiece, 0, stream>>>(list, parts);
    roots_kernel<<<list.num_tensors, kThreadsOfPiece, 0, stream>>>(list, parts, norms);
    parts += list.num_blocks();
    norms += list.num_tensors;
  });
  require_queued("the kernel of gradients' norms");
}

}  // namespace rnnlab::kernels
