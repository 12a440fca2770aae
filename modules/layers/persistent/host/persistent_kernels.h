// SPDX-License-Identifier: Apache-2.0
// The kernels of plans, compiled and loaded for a GPU: the sources that they are compiled from, and the GPU that they
// are for. layers/kernel_cache compiles a kernel when it is first needed, or reads it from the cache.
#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "layers/kernel_cache/nvrtc.h"
#include "layers/persistent/host/kernel_plan.h"

namespace rnnlab::kernels::persistent {

// Returns the texts of all headers of kernels, and freestanding.h under the names of the standard headers that it
// replaces. The build writes this function (embed_sources.cmake).
std::span<const KernelHeader> kernel_sources();

// Throws std::runtime_error if a call of CUDA failed. what: the call, as the message names it.
void check(cudaError_t error, const char* what);

// Returns how tests request the kernels (persistent_kernels_as, persistent_layer.h).
std::string kernels_as();

// Returns the numbers of a compute capability, such as "9.0"; std::nullopt if the text is not one.
std::optional<std::pair<int, int>> capability_of(std::string_view text);

// Returns what GPUs of a compute capability can run.
GpuClass class_of(int major, int minor);

// Holds the properties of a GPU on which kernels depend.
struct Gpu {
  int device = 0;
  int major = 0, minor = 0;  // compute capability
  int num_multiprocessors = 0;
  GpuClass runs;
};

// Returns the current GPU, with the compute capability that kernels_as names, if it names one. Throws
// std::runtime_error if CUDA reports an error.
Gpu current_gpu();

// Returns the instructions of GPUs whose compute capability begins with `major`.
Instructions instructions_of(int major);

// Returns "sm_90a" for kWgmma and "sm_90" for other instructions on a GPU of compute capability 9.0; if kernels run as
// PTX (persistent_layer.h), "compute_90a" for kWgmma, "compute_90" for kClusters, and "compute_80" for kTensorCores, or
// the capability that is named.
std::string architecture_for(const Gpu& gpu, Instructions instructions);

KernelProgram program_of(const KernelPlan& plan, const std::string& architecture);

struct LoadedKernels {
  cudaKernel_t kernel = nullptr, packing = nullptr;
};

// Compiles and loads the kernels of a plan unless they are loaded. Throws InvariantError if that happens while a CUDA
// graph is captured on the current stream: the steps before the capture load all kernels if they have the same number
// of steps and need the same gradients as the captured ones.
LoadedKernels load(const KernelPlan& plan, const Gpu& gpu);

// An empty kernel, which shows how many blocks fit on the GPU before their own kernel is compiled.
KernelProgram occupancy_probe(const std::string& architecture);
cudaKernel_t load_occupancy_probe(const Gpu& gpu);

}  // namespace rnnlab::kernels::persistent
