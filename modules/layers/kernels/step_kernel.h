// SPDX-License-Identifier: Apache-2.0
// The kernels of a step on a GPU, for a program as print_step.h writes it. Each thread computes one unit of a sequence,
// so that neighbours in a warp are neighbours in memory, for every gate. CUDA's compiler compiles them for the cells of
// the list, and NVRTC for others.
#pragma once

#include "layers/kernels/step_units.h"
#include "layers/kernels/thread_lanes.h"

namespace rnnlab::kernels {

inline constexpr int kThreadsOfStep = 128;

template <class Program, StepPass kPass, class T>
__device__ void run_unit(const ProgramStep& work) {
  const int64_t unit = static_cast<int64_t>(blockIdx.y) * kThreadsOfStep + threadIdx.x;
  if (unit >= work.step.hidden_size) return;
  constexpr StepColumns kColumns = Program::kColumns;
  const NoSums sums;
  using Real = Accumulation<T>;
  using Units = StepUnits<ThreadLanes<Real>, T, Real, NoSums, true>;
  run_pass<Program, kPass>(Units(work, kColumns, sums, blockIdx.x, unit, 1));
}

template <class Program, StepPass kPass, class T>
__global__ void __launch_bounds__(kThreadsOfStep) step_kernel(const __grid_constant__ ProgramStep work) {
  run_unit<Program, kPass, T>(work);
}

struct LayersOfStep {
  ProgramStep works[kLayersAtOnce];
};

template <class Program, StepPass kPass, class T>
__global__ void __launch_bounds__(kThreadsOfStep) steps_kernel(const __grid_constant__ LayersOfStep layers) {
  run_unit<Program, kPass, T>(layers.works[blockIdx.z]);
}

#ifdef __CUDACC_RTC__  // which has no header of these types
struct Float16 {
  Float16() = default;
  __device__ explicit Float16(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
  __device__ explicit operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
  uint16_t bits;
};

// Rounds to the nearest value, to even if two are equally near; GPUs before compute capability 8.0 have no instruction
// for it.
struct Bfloat16 {
  Bfloat16() = default;
  __device__ explicit Bfloat16(float value) {
    const uint32_t exact = __float_as_uint(value);
    const uint32_t rounded = exact + 0x7fff + (exact >> 16 & 1);
    bits = static_cast<uint16_t>(value == value ? rounded >> 16 : 0x7fff);
  }
  __device__ explicit operator float() const { return __uint_as_float(static_cast<uint32_t>(bits) << 16); }
  uint16_t bits;
};
#endif

}  // namespace rnnlab::kernels
