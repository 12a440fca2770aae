#include "recurrent/tf32.h"

#include <ATen/Context.h>

#include <cstdlib>
#include <string_view>

namespace rnnlab {

bool tf32_is_overridden() {
  const char* value = std::getenv("NVIDIA_TF32_OVERRIDE");
  return value != nullptr && std::string_view(value) == "0";
}

bool rounds_to_tf32() { return at::globalContext().allowTF32CuBLAS() && !tf32_is_overridden(); }

}  // namespace rnnlab
