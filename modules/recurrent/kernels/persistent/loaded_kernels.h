// Kernels that this process has loaded, each compiled for the GPUs of one architecture when it was asked for first
// (kernel_cache/kernel_supply.h).
#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <string>
#include <vector>

#include "kernel_cache/nvrtc.h"
#include "recurrent/kernels/persistent/kernel_plan.h"

namespace rnnlab::kernels::persistent {

// A GPU as far as kernels depend on it.
struct Gpu {
  int device = 0;
  int major = 0, minor = 0;  // compute capability
  GpuClass runs;
};

// The current one. std::runtime_error where CUDA does not tell.
Gpu current_gpu();

// "sm_90a" of kWgmma, "sm_90" of kClusters. "compute_90" where they run as PTX (persistent_layer.h).
std::string architecture_for(const Gpu& gpu, Instructions instructions);

KernelProgram program_of(const KernelPlan& plan, const std::string& architecture);

struct LoadedKernels {
  cudaKernel_t kernel = nullptr, packing = nullptr;
};

// Compiles and loads what is not there. InvariantError while a CUDA graph is captured on the current stream: all
// kernels of a work are loaded by the steps before.
LoadedKernels load(const KernelPlan& plan, const Gpu& gpu);

// Those of a GPU whose compute capability begins with `major`.
Instructions instructions_of(int major);

// A kernel of no work, by which to ask how many blocks find room, before anything is compiled for them.
KernelProgram occupancy_probe(const std::string& architecture);
cudaKernel_t load_occupancy_probe(const Gpu& gpu);

}  // namespace rnnlab::kernels::persistent
