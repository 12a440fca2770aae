// SPDX-License-Identifier: Apache-2.0
// Each thread computes one unit of a sequence, so neighbours in a warp are neighbours in memory, for every gate.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>

#include "layers/kernels/launch.h"
#include "layers/kernels/own_code.h"
#include "layers/kernels/step_units.h"

namespace rnnlab::kernels {
namespace {

constexpr int kThreadsOfStep = 128;

// The functions that step_math.h and step_units.h ask for; a vector is one number.
template <class Real>
struct ThreadLanes {
  using Vector = Real;
  static constexpr int64_t kWidth = 1;

  template <class T>
  __device__ static Real read(const void* data, int64_t index, int64_t) {
    return load<T>(data, index);
  }
  template <class T>
  __device__ static void write(void* data, int64_t index, Real value, int64_t) {
    store<T>(data, index, value);
  }
  __device__ static Real number(double value) { return static_cast<Real>(value); }
  __device__ static Real sigmoid(Real x) { return Real(1) / (Real(1) + std::exp(-x)); }
  __device__ static Real tanh(Real x) { return std::tanh(x); }
  __device__ static Real exp(Real x) { return std::exp(x); }
  __device__ static Real log(Real x) { return std::log(x); }
  __device__ static Real log1p(Real x) { return std::log1p(x); }
  __device__ static Real select(bool condition, Real yes, Real no) { return condition ? yes : no; }
};

// The programs that print_step.h has written: with_compiled_program().
#include "layers/kernels/compiled_programs.inc"

template <class Program, StepPass kPass, class T>
__device__ void run_unit(const ProgramStep& work) {
  const int64_t unit = static_cast<int64_t>(blockIdx.y) * kThreadsOfStep + threadIdx.x;
  if (unit >= work.step.hidden_size) return;
  constexpr StepColumns kColumns = Program::kColumns;
  const NoSums sums;
  using Real = Accumulation<T>;
  StepUnits<ThreadLanes<Real>, T, Real, NoSums, true> units(work, kColumns, sums, blockIdx.x, unit, 1);
  if constexpr (kPass == StepPass::kForward)
    Program::forward(units);
  else
    Program::backward(units);
}

template <class Program, StepPass kPass, class T>
__global__ void __launch_bounds__(kThreadsOfStep) step_kernel(const __grid_constant__ ProgramStep work) {
  run_unit<Program, kPass, T>(work);
}

struct Layers {
  ProgramStep works[kLayersAtOnce];
};

template <class Program, StepPass kPass, class T>
__global__ void __launch_bounds__(kThreadsOfStep) steps_kernel(const __grid_constant__ Layers layers) {
  run_unit<Program, kPass, T>(layers.works[blockIdx.z]);
}

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
    Layers layers;
    std::copy(works.begin(), works.end(), layers.works);
    steps_kernel<Program, kPass, T><<<grid_of(works.front().step, works.size()), kThreadsOfStep, 0, stream>>>(layers);
  }
}

const ProgramStep& first_of(const ProgramStep& work) { return work; }
const ProgramStep& first_of(std::span<const ProgramStep> works) { return works.front(); }

template <class Work>
void launch(const Work& work, cudaStream_t stream) {
  const ProgramStep& first = first_of(work);
  with_compiled_program(first.program, [&](auto program) {
    using Program = decltype(program);
    with_cuda_type(first.step.type, [&](auto element) {
      using T = decltype(element);
      if (first.pass == StepPass::kForward)
        start<Program, StepPass::kForward, T>(work, stream);
      else
        start<Program, StepPass::kBackward, T>(work, stream);
      require_started("a recurrent step's kernel");
    });
  });
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
