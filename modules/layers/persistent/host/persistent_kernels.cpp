// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/host/persistent_kernels.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/folder.h"
#include "layers/kernel_cache/loaded_programs.h"
#include "layers/persistent/shared/sizes.h"

namespace rnnlab::kernels::persistent {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) check_cuda(error, std::string("layer: persistent: ") + what);
}

namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

std::string kernels_as() { return environment_variable("RNNLAB_KERNELS_AS"); }

namespace {

// The most shared memory of a block.
int shared_bytes_of(int major, int minor) {
  if (major >= 9) return major >= 12 ? kLittleShared : kMuchShared;
  return minor == 0 || minor == 7 ? kMediumShared : kLittleShared;
}

// Sets the compute capability that RNNLAB_KERNELS_AS names, if it names one.
void limit_capability(Gpu& gpu) {
  const auto capability = capability_of(kernels_as());
  if (!capability) return;
  std::tie(gpu.major, gpu.minor) = *capability;
  const GpuClass limit = class_of(gpu.major, gpu.minor);
  gpu.runs = {.instructions = limit.instructions, .shared_bytes = std::min(limit.shared_bytes, gpu.runs.shared_bytes)};
}

}  // namespace

std::optional<std::pair<int, int>> capability_of(std::string_view text) {
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto [point, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || point == end || *point != '.') return std::nullopt;
  const auto [rest, minor_error] = std::from_chars(point + 1, end, minor);
  if (minor_error != std::errc() || rest != end) return std::nullopt;
  return std::pair(major, minor);
}

GpuClass class_of(int major, int minor) {
  return {.instructions = instructions_of(major), .shared_bytes = shared_bytes_of(major, minor)};
}

Gpu current_gpu() {
  Gpu gpu;
  check(cudaGetDevice(&gpu.device), "cudaGetDevice");
  gpu.major = attribute(cudaDevAttrComputeCapabilityMajor, gpu.device);
  gpu.minor = attribute(cudaDevAttrComputeCapabilityMinor, gpu.device);
  gpu.num_multiprocessors = attribute(cudaDevAttrMultiProcessorCount, gpu.device);
  gpu.runs = {.instructions = instructions_of(gpu.major),
              .shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu.device)};
  limit_capability(gpu);
  return gpu;
}

std::string architecture_for(const Gpu& gpu, Instructions instructions) {
  const char* const variant = instructions == Instructions::kWgmma ? "a" : "";
  if (kernels_as() == "ptx")
    return instructions == Instructions::kTensorCores ? "compute_80" : fmt::format("compute_90{}", variant);
  if (capability_of(kernels_as())) return fmt::format("compute_{}{}{}", gpu.major, gpu.minor, variant);
  return fmt::format("sm_{}{}{}", gpu.major, gpu.minor, variant);
}

KernelProgram program_of(const KernelPlan& plan, const std::string& architecture) {
  return {plan.source, kernel_sources(), architecture, {plan.kernel, plan.packing}};
}

LoadedKernels load(const KernelPlan& plan, const Gpu& gpu) {
  const auto& kernels = loaded_kernels(program_of(plan, architecture_for(gpu, plan.instructions)));
  return {kernels.at(0), kernels.at(1)};
}

Instructions instructions_of(int major) {
  if (major < 9) return Instructions::kTensorCores;
  return major == 9 ? Instructions::kWgmma : Instructions::kClusters;
}

KernelProgram occupancy_probe(const std::string& architecture) {
  return {"__global__ void occupancy_probe() {}\n", {}, architecture, {"occupancy_probe"}};
}

cudaKernel_t load_occupancy_probe(const Gpu& gpu) {
  return loaded_kernels(occupancy_probe(architecture_for(gpu, Instructions::kTensorCores))).front();
}

}  // namespace rnnlab::kernels::persistent
