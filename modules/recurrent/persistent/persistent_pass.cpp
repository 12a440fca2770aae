#include "recurrent/persistent/persistent_pass.h"

#include <c10/cuda/CUDAGuard.h>

#include "base/error.h"
#include "recurrent/device/gpu_support.h"
#include "recurrent/device/number_types.h"
#include "recurrent/kernels/persistent/persistent_layer.h"
#include "recurrent/persistent/first_check.h"
#include "recurrent/persistent/layer_parts.h"
#include "recurrent/persistent/persistent_launch.h"

namespace rnnlab {
namespace {

std::string_view class_name(at::ScalarType type) {
  if (type != at::kFloat) return number_type_name(type);
  if (rounds_to_tf32()) return "tf32 class: float16 operands, float32 sums";
  return "float32: each factor as two float16, float32 sums";
}

void require_gpu_with_kernels(c10::Device device) {
  static DeviceAnswers accepts;
  accepts.of(device, [&] {
    if (const auto reason = unsupported_reason(LayerKind::kPersistent, device))
      throw_error(ExitCode::kUsage, "{}", *reason);
    return true;
  });
}

}  // namespace

void require_persistent(const at::Tensor& sequence, int64_t hidden_size) {
  require_gpu_with_kernels(sequence.device());
  const at::ScalarType type = sequence.scalar_type();
  if (type == at::kDouble)
    throw_error(ExitCode::kUsage,
                "layer: persistent has no float64, which tensor cores cannot keep up with; use layer: cudnn");
  const bool is_float32 = type == at::kFloat && !rounds_to_tf32();
  const auto factors = is_float32 ? kernels::Factors::kFloat32 : kernels::Factors::kTf32;
  if (!kernels::has_persistent_layer(hidden_size, factors, kernels::PersistentKernels::kAll))
    throw_error(ExitCode::kUsage,
                "layer: persistent cannot do hidden_size: {} in fp32 (two parts of each weight find room up to 1024); "
                "use precision: tf32 or bf16, or layer: cudnn",
                hidden_size);
  require_checked_gpu(sequence.device(), type);
  throw_if_kernel_timed_out();
}

ExecutionPath persistent_path(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers) {
  const LayerTrace& bottom = layers.front();
  const c10::cuda::CUDAGuard guard(bottom.gates.device());
  const kernels::PersistentGroups groups = forward_groups(spec, bottom);
  const size_t parts = parts_of_steps(bottom.num_steps(), layers.size(), forward_part_of_gpu(spec, bottom)).size();
  return {fmt::format("persistent kernel ({}), {} of {} blocks{}{}", class_name(bottom.gates.scalar_type()),
                      groups.are_clusters ? "clusters" : "groups", groups.num_blocks,
                      groups.are_clusters ? "" : " over the whole GPU",
                      parts > 1 ? fmt::format(", layers side by side in {} parts", parts) : ""),
          {}};
}

}  // namespace rnnlab
