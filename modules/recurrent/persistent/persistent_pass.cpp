#include "recurrent/persistent/persistent_pass.h"

#include <ATen/cuda/CUDAContext.h>

#include "base/error.h"
#include "recurrent/number_type.h"
#include "recurrent/persistent/gave_up.h"
#include "recurrent/persistent/persistent_launch.h"

namespace rnnlab {

void require_persistent(const at::Tensor& sequence) {
  if (const auto reason = refusal(LayerKind::kPersistent, sequence.is_cuda() ? Processor::kGpu : Processor::kCpu))
    throw_error(ExitCode::kUsage, "{}", *reason);
  const auto* gpu = at::cuda::getDeviceProperties(sequence.device().index());
  if (gpu->major != 9)
    throw_error(ExitCode::kUsage,
                "layer: persistent needs a Hopper GPU (compute capability 9.0); this is {} ({}.{}): use layer: cudnn",
                gpu->name, gpu->major, gpu->minor);
  const at::ScalarType type = sequence.scalar_type();
  if (type == at::kDouble)
    throw_error(ExitCode::kUsage,
                "layer: persistent has no float64, which tensor cores cannot keep up with; use layer: cudnn");
  require_that_none_gave_up();
}

ExecutionPath persistent_path(at::ScalarType type) {
  const auto numbers = [&]() -> std::string_view {
    if (type != at::kFloat) return number_type_name(type);
    if (rounds_to_tf32()) return "tf32 class: float16 operands, float32 sums";
    return "float32: each factor as two float16, float32 sums";
  };
  return {fmt::format("persistent kernel on clusters ({})", numbers()), {}};
}

}  // namespace rnnlab
