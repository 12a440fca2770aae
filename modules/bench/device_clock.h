// How long queued work takes on its device, from outside the work.
#pragma once

#include <c10/core/Device.h>

#include <functional>

namespace rnnlab {

// Seconds from the moment the device begins with what `work` queues on the current stream to the moment it has finished
// it, by CUDA events; on the CPU by the steady clock. Waits for the device before and after. Time in which a device
// waits for the host to queue more is counted.
double seconds_of(c10::Device device, const std::function<void()>& work);

}  // namespace rnnlab
