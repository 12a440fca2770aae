// SPDX-License-Identifier: Apache-2.0
#include "recurrent/device/gpu_support.h"

#include <fmt/format.h>

#include "recurrent/device/gpu_device.h"

namespace rnnlab {

bool has_own_kernels(c10::Device device) {
  static DeviceAnswers answers;
  return device.is_cuda() && answers.of(device, has_own_code);
}

Gpu gpu_of(c10::Device device) {
  const GpuProperties properties = properties_of_gpu(device);
  return {.name = properties.name,
          .capability = {properties.major, properties.minor},
          .has_own_kernels = has_own_kernels(device)};
}

std::string how_to_get_own_kernels(const Gpu& gpu) {
  return fmt::format("configure the build with -DRNNLAB_CUDA_ARCHITECTURES={}{}-real", gpu.capability.major,
                     gpu.capability.minor);
}

std::optional<std::string> unsupported_reason(LayerKind kind, const Gpu& gpu) {
  if (const auto reason = unsupported_reason(kind, Processor::kGpu)) return reason;
  const LayerInfo& layer = info_of(kind);
  if (gpu.capability < layer.min_gpu_capability)
    return fmt::format("layer: {} needs compute capability {}, and {} has {}; use layer: cudnn", config::name_of(kind),
                       text_of(layer.min_gpu_capability), gpu.name, text_of(gpu.capability));
  if (!layer.needs_own_kernels || gpu.has_own_kernels) return std::nullopt;
  return fmt::format(
      "layer: {} needs own kernels for compute capability {} ({}), and this build has {}; use layer: fused, or {}",
      config::name_of(kind), text_of(gpu.capability), gpu.name, kernels::described(kernels::own_code()),
      how_to_get_own_kernels(gpu));
}

std::optional<std::string> unsupported_size(LayerKind kind, const RecurrentOptions& options, Precision precision,
                                            const Gpu& gpu) {
  const auto unsupported = info_of(kind).unsupported_size;
  if (unsupported == nullptr) return std::nullopt;
  const auto reason = unsupported(options, precision, gpu);
  return reason ? std::optional(fmt::format("layer: {} {}", config::name_of(kind), *reason)) : std::nullopt;
}

std::optional<std::string> why_no_compiler(LayerKind kind) {
  if (!info_of(kind).compiles_kernels || !why_no_persistent_kernels.is_defined()) return std::nullopt;
  const auto reason = why_no_persistent_kernels();
  if (!reason) return std::nullopt;
  return fmt::format("layer: {}: {}; or use layer: cudnn", config::name_of(kind), *reason);
}

std::optional<std::string> unsupported_reason(LayerKind kind, c10::Device device) {
  if (device.is_cpu()) return unsupported_reason(kind, Processor::kCpu);
  if (const auto reason = unsupported_reason(kind, gpu_of(device))) return reason;
  return why_no_compiler(kind);
}

}  // namespace rnnlab
