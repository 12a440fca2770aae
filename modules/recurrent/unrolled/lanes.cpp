#include "recurrent/unrolled/lanes.h"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <exception>
#include <map>
#include <mutex>
#include <vector>

namespace rnnlab {
namespace {

// The same streams at every pass, for cuBLAS keeps a workspace for each stream that it has seen.
c10::cuda::CUDAStream side_stream(at::Device device, size_t lane) {
  static std::mutex mutex;
  static std::map<c10::DeviceIndex, std::vector<c10::cuda::CUDAStream>> streams;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& own = streams[device.index()];
  while (own.size() < lane) own.push_back(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()));
  return own[lane - 1];
}

c10::cuda::CUDAStream stream_of(at::Device device, size_t lane) {
  return lane == 0 ? c10::cuda::getCurrentCUDAStream(device.index()) : side_stream(device, lane);
}

}  // namespace

Lanes::Lanes(at::Device device, size_t count) : device_(device), count_(device.is_cuda() ? count : 1) {
  for (size_t lane = 1; lane < count_; ++lane) order(0, lane);
}

Lanes::~Lanes() {
  if (is_joined_) return;
  try {
    join();
  } catch (const std::exception&) {  // the device is lost: no kernel writes any more
  }
}

void Lanes::run(size_t lane, const std::function<void()>& work) const {
  if (lane == 0 || count_ == 1) return work();
  const c10::cuda::CUDAStreamGuard guard(side_stream(device_, lane));
  work();
}

void Lanes::order(size_t before, size_t after) const {
  if (before == after || count_ == 1) return;
  at::cuda::CUDAEvent event;
  event.record(stream_of(device_, before));
  event.block(stream_of(device_, after));
}

void Lanes::join() {
  for (size_t lane = 1; lane < count_; ++lane) order(lane, 0);
  is_joined_ = true;
}

}  // namespace rnnlab
