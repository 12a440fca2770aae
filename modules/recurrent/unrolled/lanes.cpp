#include "recurrent/unrolled/lanes.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <exception>
#include <map>
#include <mutex>
#include <tuple>

#include "recurrent/device/gpu_device.h"

namespace rnnlab {
namespace {

// Every pass uses the same streams, because cuBLAS keeps a workspace for each stream that it has used.
c10::Stream stream_of_lane(at::Device device, int priority, size_t lane) {
  static std::mutex mutex;
  static std::map<std::tuple<c10::DeviceIndex, int, size_t>, c10::Stream> streams;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto key = std::tuple(device.index(), priority, lane);
  const auto known = streams.find(key);
  if (known != streams.end()) return known->second;
  return streams.emplace(key, stream_from_pool(device, priority)).first->second;
}

}  // namespace

StreamSet::StreamSet(at::Device device, size_t num_side_lanes, size_t num_main_lanes) {
  if (!device.is_cuda()) return;
  const c10::Stream current = current_stream(device);
  const int priority = num_main_lanes > 0 ? priority_of_stream(current) : kLowestPriority;
  streams_.push_back(current);
  for (size_t lane = 1; lane <= num_side_lanes + num_main_lanes; ++lane) {
    streams_.push_back(stream_of_lane(device, lane <= num_side_lanes ? kLowestPriority : priority, lane));
    order(0, lane);
  }
}

StreamSet::~StreamSet() {
  if (is_joined_) return;
  try {
    join();
  } catch (const std::exception&) {  // the device is lost, so kernels do not write any more
  }
}

void StreamSet::run(size_t lane, const std::function<void()>& work) const {
  if (lane == 0 || streams_.size() <= 1) return work();
  const c10::StreamGuard guard(streams_[lane]);
  work();
}

void StreamSet::order(size_t before, size_t after) const {
  if (before == after || streams_.size() <= 1) return;
  c10::Event event(streams_[before].device_type());
  event.record(streams_[before]);
  event.block(streams_[after]);
}

void StreamSet::join() {
  for (size_t lane = 1; lane < streams_.size(); ++lane) order(lane, 0);
  is_joined_ = true;
}

}  // namespace rnnlab
