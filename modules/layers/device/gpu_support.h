// SPDX-License-Identifier: Apache-2.0
// Decides which of this build's own kernels and which layers a GPU supports. All code with own kernels asks
// has_own_kernels() and uses LibTorch's operators if it returns false. If a layer consists of own kernels that
// are missing, why_unsupported() has a message, and the run ends before it begins.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>

#include <map>
#include <mutex>

#include "layers/kernels/own_code.h"
#include "layers/layer_kind.h"

namespace rnnlab {

// Stores the answers to a question about GPUs, one for each GPU, because asking takes longer than a launch.
class DeviceAnswers {
 public:
  // Returns ask(), a bool, which is called with the device as the current one. If ask() throws, it is called again next
  // time. Any thread may call this function.
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

using kernels::Capability;

// Returns whether this build has code of its own kernels for this GPU; false for a CPU. CUDA is asked once for each
// GPU.
bool has_own_kernels(c10::Device device);

// Requires a GPU that exists.
Gpu gpu_of(c10::Device device);

inline Processor processor_of(c10::Device device) { return device.is_cpu() ? Processor::kCpu : Processor::kGpu; }

// Returns the work on an existing device, with its processor and GPU.
LayerWork work_on(c10::Device device, LayerWork work = {});

}  // namespace rnnlab
