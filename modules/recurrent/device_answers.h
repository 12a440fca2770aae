// A question about GPUs that is asked once for each, since its answer takes longer than a launch.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>

#include <map>
#include <mutex>

namespace rnnlab {

class DeviceAnswers {
 public:
  // ask() -> bool, with the device as the current one. If it throws, the question is asked again next time. From any
  // thread.
  template <class Ask>
  bool of(c10::Device device, const Ask& ask) {
    const std::lock_guard lock(mutex_);
    if (const auto answer = known_.find(device.index()); answer != known_.end()) return answer->second;
    const c10::DeviceGuard guard(device);
    return known_[device.index()] = ask();
  }

 private:
  std::mutex mutex_;
  std::map<c10::DeviceIndex, bool> known_;
};

}  // namespace rnnlab
