// A question about GPUs that is asked once for each, since its answer takes longer than a launch.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>

#include <map>
#include <mutex>

namespace rnnlab {

class DeviceAnswers {
 public:
  // ask() -> bool, with the device as the current one. From any thread.
  template <class Ask>
  bool of(c10::Device device, const Ask& ask) {
    const std::lock_guard lock(mutex_);
    const auto [answer, is_new] = known_.try_emplace(device.index(), false);
    if (!is_new) return answer->second;
    const c10::DeviceGuard guard(device);
    return answer->second = ask();
  }

 private:
  std::mutex mutex_;
  std::map<c10::DeviceIndex, bool> known_;
};

}  // namespace rnnlab
