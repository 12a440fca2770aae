// One thread a unit of a sequence: neighbours in a warp are neighbours in memory, for every gate.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "recurrent/kernels/pointwise_unit.h"

namespace rnnlab::kernels {
namespace {

constexpr int kThreads = 128;

template <class T, class Work>
__global__ void __launch_bounds__(kThreads) step_kernel(const Work work) {
  const int64_t unit = static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (unit < work.step.hidden_size) run_unit<T>(work, blockIdx.x, unit);
}

template <class T, class Work>
void launch(const Work& work, cudaStream_t stream) {
  const auto columns = static_cast<unsigned>((work.step.hidden_size + kThreads - 1) / kThreads);
  step_kernel<T><<<dim3(static_cast<unsigned>(work.step.batch_size), columns), kThreads, 0, stream>>>(work);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("a recurrent step's kernel did not start: ") + cudaGetErrorString(error));
}

template <class Work>
void launch_typed(const Work& work, cudaStream_t stream) {
  switch (work.step.type) {
    case ElementType::kFloat32:
      return launch<float>(work, stream);
    case ElementType::kFloat64:
      return launch<double>(work, stream);
    case ElementType::kFloat16:
      return launch<__half>(work, stream);
    case ElementType::kBfloat16:
      return launch<__nv_bfloat16>(work, stream);
  }
}

}  // namespace

void run(const LstmForward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const LstmBackward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const GruForward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const GruBackward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const RnnForward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const RnnBackward& work, cudaStream_t stream) { launch_typed(work, stream); }

}  // namespace rnnlab::kernels
