// SPDX-License-Identifier: Apache-2.0
#include "layers/device/number_types.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "base/error.h"

namespace rnnlab {

std::string_view number_type_name(at::ScalarType type) {
  constexpr std::array<std::string_view, 4> kNames = {"float32", "float64", "float16", "bfloat16"};  // as ElementType
  return kNames.at(static_cast<size_t>(element_type(type)));
}

kernels::ElementType element_type(at::ScalarType type) {
  if (type == at::kFloat) return kernels::ElementType::kFloat32;
  if (type == at::kDouble) return kernels::ElementType::kFloat64;
  if (type == at::kHalf) return kernels::ElementType::kFloat16;
  RNNLAB_INVARIANT(type == at::kBFloat16, fmt::format("kernels do not support {}", c10::toString(type)));
  return kernels::ElementType::kBfloat16;
}

at::ScalarType type_of_products(const at::Tensor& values) {
  const c10::DeviceType device = values.device().type();
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device) : values.scalar_type();
}

bool tf32_is_overridden() {
  const char* value = std::getenv("NVIDIA_TF32_OVERRIDE");
  return value != nullptr && std::string_view(value) == "0";
}

bool rounds_to_tf32() { return at::globalContext().allowTF32CuBLAS() && !tf32_is_overridden(); }

}  // namespace rnnlab
