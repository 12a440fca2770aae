// Which kernels a piece of work ran on a GPU, or which operators on the CPU, by LibTorch's profiler. Watching a GPU
// leaves hooks in the driver behind that may slow down what the process does later.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/laboratory.h"

namespace rnnlab {

// The kinds that took longest first, at most 20; names are cut to 160 bytes. Waits for the device.
std::vector<KernelUse> kernels_during(c10::Device device, const std::function<void()>& work);

// A call, within another one of its thread or not.
struct CallSpan {
  std::string name;
  uint64_t thread = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// By name: how many calls, and the time in them that was not in calls within. The longest first.
std::vector<KernelUse> self_times(std::vector<CallSpan> calls);

}  // namespace rnnlab
