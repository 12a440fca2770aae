#include "recurrent/device/gpu_support.h"

#include <fmt/format.h>

#include "recurrent/device/gpu_device.h"
#include "recurrent/kernels/persistent/persistent_layer.h"

namespace rnnlab {
namespace {

constexpr Capability kFirstWithClusters = {9, 0};  // clusters of thread blocks

bool is_made_of_own_kernels(LayerKind kind) {
  switch (kind) {
    case LayerKind::kFusedPointwise:
    case LayerKind::kPretransposed:
    case LayerKind::kHoisted:
    case LayerKind::kWavefront:
    case LayerKind::kDiagonal:
    case LayerKind::kPersistentClusters:
    case LayerKind::kPersistentTeams:
    case LayerKind::kPersistent:
      return true;
    default:
      return false;
  }
}

}  // namespace

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

std::optional<std::string> refusal(LayerKind kind, const Gpu& gpu) {
  if (const auto reason = refusal(kind, Processor::kGpu)) return reason;
  if (is_persistent(kind) && gpu.capability < kFirstWithClusters)
    return fmt::format("layer: {} needs compute capability {}, and {} has {}; use layer: cudnn", config::name_of(kind),
                       text_of(kFirstWithClusters), gpu.name, text_of(gpu.capability));
  if (!is_made_of_own_kernels(kind) || gpu.has_own_kernels) return std::nullopt;
  return fmt::format(
      "layer: {} needs own kernels for compute capability {} ({}), and this build has {}; use layer: fused, or {}",
      config::name_of(kind), text_of(gpu.capability), gpu.name, kernels::described(kernels::own_code()),
      how_to_get_own_kernels(gpu));
}

std::optional<std::string> refusal_of_size(LayerKind kind, int64_t hidden_size, const Gpu& gpu) {
  const bool has_grids = gpu.capability.major == kFirstWithClusters.major;  // grid kernels need exactly 9.0
  if (!is_persistent(kind) || has_grids || hidden_size <= kernels::kLargestOfClusters) return std::nullopt;
  return fmt::format(
      "layer: {} cannot do hidden_size: {} on {} (compute capability {}): its kernels for more than {} units need "
      "compute capability 9.0; use layer: cudnn",
      config::name_of(kind), hidden_size, gpu.name, text_of(gpu.capability), kernels::kLargestOfClusters);
}

std::optional<std::string> compiler_refusal(LayerKind kind) {
  if (!is_persistent(kind) || !why_no_persistent_kernels.is_defined()) return std::nullopt;
  const auto reason = why_no_persistent_kernels();
  if (!reason) return std::nullopt;
  return fmt::format("layer: {}: {}; or use layer: cudnn", config::name_of(kind), *reason);
}

std::optional<std::string> refusal(LayerKind kind, c10::Device device) {
  if (device.is_cpu()) return refusal(kind, Processor::kCpu);
  if (const auto reason = refusal(kind, gpu_of(device))) return reason;
  return compiler_refusal(kind);
}

}  // namespace rnnlab
