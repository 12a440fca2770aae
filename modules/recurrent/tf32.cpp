#include "recurrent/tf32.h"

#include <cstdlib>
#include <string_view>

namespace rnnlab {

bool tf32_is_overridden() {
  const char* value = std::getenv("NVIDIA_TF32_OVERRIDE");
  return value != nullptr && std::string_view(value) == "0";
}

}  // namespace rnnlab
