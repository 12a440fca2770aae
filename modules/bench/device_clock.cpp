#include "bench/device_clock.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>

#include <chrono>

#include "recurrent/gpu_device.h"

namespace rnnlab {
namespace {

double seconds_on_cpu(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double seconds_on_gpu(c10::Device device, const std::function<void()>& work) {
  constexpr double kSecondsPerMillisecond = 1e-3;
  const c10::DeviceGuard guard(device);
  constexpr c10::EventFlag kWithTime = c10::EventFlag::BACKEND_DEFAULT;
  c10::Event start(device.type(), kWithTime), end(device.type(), kWithTime);
  synchronize(device);
  start.record(current_stream(device));
  work();
  end.record(current_stream(device));
  end.synchronize();
  return start.elapsedTime(end) * kSecondsPerMillisecond;
}

}  // namespace

double seconds_of(c10::Device device, const std::function<void()>& work) {
  return device.is_cpu() ? seconds_on_cpu(work) : seconds_on_gpu(device, work);
}

}  // namespace rnnlab
