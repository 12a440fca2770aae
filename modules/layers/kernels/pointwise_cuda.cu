// SPDX-License-Identifier: Apache-2.0
// Each thread computes one unit of a sequence, so neighbours in a warp are neighbours in memory, for every gate.
#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

#include "layers/kernels/launch.h"
#include "layers/kernels/own_code.h"
#include "layers/kernels/pointwise_unit.h"

namespace rnnlab::kernels {
namespace {

constexpr int kThreadsOfStep = 128;

template <class T, class Work>
__global__ void __launch_bounds__(kThreadsOfStep) step_kernel(const Work work) {
  const int64_t unit = static_cast<int64_t>(blockIdx.y) * kThreadsOfStep + threadIdx.x;
  if (unit < work.step.hidden_size) run_unit<T>(work, blockIdx.x, unit);
}

template <class Work>
struct Layers {
  Work works[kLayersAtOnce];
};

template <class T, class Work>
__global__ void __launch_bounds__(kThreadsOfStep) steps_kernel(const __grid_constant__ Layers<Work> layers) {
  const Work& work = layers.works[blockIdx.z];
  const int64_t unit = static_cast<int64_t>(blockIdx.y) * kThreadsOfStep + threadIdx.x;
  if (unit < work.step.hidden_size) run_unit<T>(work, blockIdx.x, unit);
}

dim3 grid_of(const Step& step, size_t num_layers) {
  const auto columns = static_cast<unsigned>((step.hidden_size + kThreadsOfStep - 1) / kThreadsOfStep);
  return {static_cast<unsigned>(step.batch_size), columns, static_cast<unsigned>(num_layers)};
}

template <class T, class Work>
void start(const Work& work, cudaStream_t stream) {
  step_kernel<T><<<grid_of(work.step, 1), kThreadsOfStep, 0, stream>>>(work);
}

template <class T, class Work>
void start(std::span<const Work> works, cudaStream_t stream) {
  Layers<Work> layers;
  std::copy(works.begin(), works.end(), layers.works);
  steps_kernel<T><<<grid_of(works.front().step, works.size()), kThreadsOfStep, 0, stream>>>(layers);
}

template <class T, class Work>
void launch(const Work& work, cudaStream_t stream) {
  start<T>(work, stream);
  require_started("a recurrent step's kernel");
}

template <class Work>
const Step& step_of(const Work& work) {
  return work.step;
}

template <class Work>
const Step& step_of(std::span<const Work> works) {
  return works.front().step;
}

template <class Work>
void launch_typed(const Work& work, cudaStream_t stream) {
  with_cuda_type(step_of(work).type, [&](auto element) { launch<decltype(element)>(work, stream); });
}

}  // namespace

void run(const LstmForward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const LstmBackward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const GruForward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const GruBackward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const RnnForward& work, cudaStream_t stream) { launch_typed(work, stream); }
void run(const RnnBackward& work, cudaStream_t stream) { launch_typed(work, stream); }

void run(std::span<const LstmForward> layers, cudaStream_t stream) { launch_typed(layers, stream); }
void run(std::span<const LstmBackward> layers, cudaStream_t stream) { launch_typed(layers, stream); }
void run(std::span<const RnnForward> layers, cudaStream_t stream) { launch_typed(layers, stream); }
void run(std::span<const RnnBackward> layers, cudaStream_t stream) { launch_typed(layers, stream); }

namespace {

// This kernel is never launched; it represents all kernels that are compiled for the same GPUs.
__global__ void probe_kernel() {}

cudaError_t find_code(cudaFuncAttributes& attributes) {
  const cudaError_t error = cudaFuncGetAttributes(&attributes, probe_kernel);
  if (error != cudaSuccess) (void)cudaGetLastError();  // otherwise the next kernel would report this error
  return error;
}

}  // namespace

bool has_own_code() {
  cudaFuncAttributes attributes;
  const cudaError_t error = find_code(attributes);
  if (error == cudaSuccess) return true;
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
      error == cudaErrorUnsupportedPtxVersion || error == cudaErrorInvalidKernelImage)
    return false;
  throw std::runtime_error(std::string("CUDA cannot say whether this build has kernels for this GPU: ") +
                           cudaGetErrorString(error));
}

namespace {

bool is_code_for_9() {
  constexpr int kFirstWithOverlap = 90;
  cudaFuncAttributes attributes = {};
  return find_code(attributes) == cudaSuccess && attributes.ptxVersion >= kFirstWithOverlap;
}

}  // namespace

bool overlaps_launches() {
  enum class Answer { kUnknown, kNo, kYes };
  constexpr size_t kMostDevices = 64;
  static std::array<std::atomic<Answer>, kMostDevices> answers = {};
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= static_cast<int>(kMostDevices)) return false;
  std::atomic<Answer>& answer = answers[static_cast<size_t>(device)];
  if (answer == Answer::kUnknown) answer = is_code_for_9() ? Answer::kYes : Answer::kNo;
  return answer == Answer::kYes;
}

}  // namespace rnnlab::kernels
