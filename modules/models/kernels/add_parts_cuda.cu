#include "models/kernels/add_parts.h"
#include "models/kernels/launch.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kWarpsOfSum = 32;

// A block computes 32 sums; each of its warps adds every 32nd part.
__global__ void __launch_bounds__(kLanes* kWarpsOfSum) add_parts_kernel(const AddParts work) {
  __shared__ float of_warps[kWarpsOfSum][kLanes + 1];
  const uint32_t column = blockIdx.x * kLanes + threadIdx.x;
  float sum = 0;
#pragma unroll 8
  for (uint32_t part = threadIdx.y; part < work.num_parts; part += kWarpsOfSum)
    sum += column < work.size ? work.parts[static_cast<int64_t>(part) * work.size + column] : 0.0F;
  of_warps[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  float total = of_warps[threadIdx.x][threadIdx.y];  // From here on a warp has one column, and each lane has the part
                                                     // of one warp.
  for (uint32_t lanes = kLanes / 2; lanes > 0; lanes /= 2) total += __shfl_xor_sync(~0U, total, lanes);
  const uint32_t place = blockIdx.x * kLanes + threadIdx.y;
  if (threadIdx.x == 0 && place < work.size) work.sums[place] = total;
}

}  // namespace

void run(const AddParts& work, cudaStream_t stream) {
  add_parts_kernel<<<(work.size + kLanes - 1) / kLanes, dim3(kLanes, kWarpsOfSum), 0, stream>>>(work);
  require_started("the kernel that adds up parts");
}

}  // namespace rnnlab::kernels
