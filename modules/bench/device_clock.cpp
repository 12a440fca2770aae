#include "bench/device_clock.h"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <chrono>

namespace rnnlab {
namespace {

double seconds_on_cpu(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double seconds_on_gpu(c10::Device device, const std::function<void()>& work) {
  constexpr double kSecondsPerMillisecond = 1e-3;
  const c10::cuda::CUDAGuard guard(device);
  at::cuda::CUDAEvent start(cudaEventDefault), end(cudaEventDefault);  // LibTorch's own default keeps no time
  c10::cuda::device_synchronize();
  start.record();
  work();
  end.record();
  end.synchronize();
  return start.elapsed_time(end) * kSecondsPerMillisecond;
}

}  // namespace

double seconds_of(c10::Device device, const std::function<void()>& work) {
  return device.is_cpu() ? seconds_on_cpu(work) : seconds_on_gpu(device, work);
}

}  // namespace rnnlab
