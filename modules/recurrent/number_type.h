// Types of numbers by the names that people and experiment files use.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

namespace rnnlab {

// "float32" for every type without a name of its own.
inline std::string_view number_type_name(at::ScalarType type) {
  if (type == at::kDouble) return "float64";
  if (type == at::kBFloat16) return "bfloat16";
  return type == at::kHalf ? "float16" : "float32";
}

}  // namespace rnnlab
