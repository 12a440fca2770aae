#include "base/random.h"

#include <fmt/format.h>

#include <random>

namespace rnnlab {

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace rnnlab
