// SPDX-License-Identifier: Apache-2.0
#include "recurrent/device/number_types.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/error.h"

namespace rnnlab {

namespace {

struct NumberType {
  at::ScalarType type;
  kernels::ElementType of_kernels;
  std::string_view name;
};

constexpr NumberType kNumberTypes[] = {{at::kFloat, kernels::ElementType::kFloat32, "float32"},
                                       {at::kDouble, kernels::ElementType::kFloat64, "float64"},
                                       {at::kHalf, kernels::ElementType::kFloat16, "float16"},
                                       {at::kBFloat16, kernels::ElementType::kBfloat16, "bfloat16"}};

const NumberType& number_type(at::ScalarType type) {
  const auto* const found = std::ranges::find(kNumberTypes, type, &NumberType::type);
  RNNLAB_INVARIANT(found != std::end(kNumberTypes), fmt::format("kernels do not support {}", c10::toString(type)));
  return *found;
}

}  // namespace

std::string_view number_type_name(at::ScalarType type) { return number_type(type).name; }

kernels::ElementType element_type(at::ScalarType type) { return number_type(type).of_kernels; }

std::optional<Precision> precision_of_products(at::ScalarType type) {
  switch (element_type(type)) {
    case kernels::ElementType::kFloat32:
      return rounds_to_tf32() ? Precision::kTf32 : Precision::kFp32;
    case kernels::ElementType::kFloat64:
      return std::nullopt;
    case kernels::ElementType::kFloat16:
      return Precision::kFp16;
    case kernels::ElementType::kBfloat16:
      return Precision::kBf16;
  }
  fail_invariant("a listed type", __FILE__, __LINE__, "precision_of_products does not know the type");
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
