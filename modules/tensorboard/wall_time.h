#pragma once

#include <chrono>

namespace rnnlab::tensorboard {

// Seconds since 1970, as events have them.
inline double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace rnnlab::tensorboard
