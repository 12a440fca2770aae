// A number, 0 or more, that each device has its own of, asked for once: it takes longer than a launch.
#pragma once

#include <array>
#include <atomic>

#include "recurrent/kernels/persistent/launch_check.h"

namespace rnnlab::kernels::persistent {

class PerDevice {
 public:
  // Of the current device. `ask` may run more than once.
  template <class Ask>
  int get(const Ask& ask) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    std::atomic<int>& answer = known_.at(static_cast<size_t>(device));
    if (answer == 0) answer = ask() + 1;
    return answer - 1;
  }

 private:
  static constexpr int kDevices = 64;
  std::array<std::atomic<int>, kDevices> known_ = {};  // one more, or 0: not asked yet
};

}  // namespace rnnlab::kernels::persistent
