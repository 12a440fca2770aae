// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

#include "layers/kernels/jit_step.h"
#include "layers/kernels/launch.h"
#include "layers/kernels/own_code.h"
#include "layers/kernels/step_kernel.h"

namespace rnnlab::kernels {
namespace {

// The programs that print_step.h has written: with_compiled_program().
#include "layers/kernels/compiled_programs.inc"

dim3 grid_of(const Step& step, size_t num_layers) {
  const auto columns = static_cast<unsigned>((step.hidden_size + kThreadsOfStep - 1) / kThreadsOfStep);
  return {static_cast<unsigned>(step.batch_size), columns, static_cast<unsigned>(num_layers)};
}

template <class Program, StepPass kPass, class T>
void start(const ProgramStep& work, cudaStream_t stream) {
  step_kernel<Program, kPass, T><<<grid_of(work.step, 1), kThreadsOfStep, 0, stream>>>(work);
}

template <class Program, StepPass kPass, class T>
void start(std::span<const ProgramStep> works, cudaStream_t stream) {
  if constexpr (!Program::kHasSidesApart) {
    LayersOfStep layers;
    std::copy(works.begin(), works.end(), layers.works);
    steps_kernel<Program, kPass, T><<<grid_of(works.front().step, works.size()), kThreadsOfStep, 0, stream>>>(layers);
  }
}

void start_own(const ProgramStep& work, cudaStream_t stream) {
  void* arguments[] = {const_cast<ProgramStep*>(&work)};
  cudaLaunchKernel(reinterpret_cast<const void*>(jit_step_kernel(work, /*has_layers=*/false)), grid_of(work.step, 1),
                   kThreadsOfStep, arguments, 0, stream);
}

void start_own(std::span<const ProgramStep> works, cudaStream_t stream) {
  LayersOfStep layers;
  std::copy(works.begin(), works.end(), layers.works);
  void* arguments[] = {&layers};
  cudaLaunchKernel(reinterpret_cast<const void*>(jit_step_kernel(works.front(), /*has_layers=*/true)),
                   grid_of(works.front().step, works.size()), kThreadsOfStep, arguments, 0, stream);
}

const ProgramStep& first_of(const ProgramStep& work) { return work; }
const ProgramStep& first_of(std::span<const ProgramStep> works) { return works.front(); }

template <class Work>
void launch(const Work& work, cudaStream_t stream) {
  const ProgramStep& first = first_of(work);
  if (first.program == kInterpreted) start_own(work, stream);
  with_compiled_program(first.program, [&](auto program) {
    using Program = decltype(program);
    with_cuda_type(first.step.type, [&](auto element) {
      using T = decltype(element);
      with_pass<Program>(first.pass, [&](auto pass) { start<Program, decltype(pass)::kValue, T>(work, stream); });
    });
  });
  require_started("a recurrent step's kernel");
}

}  // namespace

void run(const ProgramStep& work, cudaStream_t stream) { launch(work, stream); }
void run(std::span<const ProgramStep> layers, cudaStream_t stream) { launch(layers, stream); }

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
