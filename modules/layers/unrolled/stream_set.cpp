// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/stream_set.h"

#include <c10/core/StreamGuard.h>

#include <exception>
#include <map>
#include <mutex>
#include <tuple>

#include "layers/device/gpu_device.h"

namespace rnnlab {
namespace {

// Every pass uses the same streams, because cuBLAS keeps a workspace for each stream that it has used.
c10::Stream pooled_stream(at::Device device, int priority, size_t index) {
  static std::mutex mutex;
  static std::map<std::tuple<c10::DeviceIndex, int, size_t>, c10::Stream> streams;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto key = std::tuple(device.index(), priority, index);
  const auto known = streams.find(key);
  if (known != streams.end()) return known->second;
  return streams.emplace(key, stream_from_pool(device, priority)).first->second;
}

}  // namespace

StreamSet::StreamSet(at::Device device, size_t num_side_streams, size_t num_main_streams) {
  if (!device.is_cuda()) return;
  const c10::Stream current = current_stream(device);
  const int priority = num_main_streams > 0 ? priority_of_stream(current) : kLowestPriority;
  streams_.push_back(current);
  for (size_t i = 1; i <= num_side_streams + num_main_streams; ++i)
    streams_.push_back(pooled_stream(device, i <= num_side_streams ? kLowestPriority : priority, i));
  are_begun_.resize(streams_.size());
  are_begun_[0] = true;
  if (streams_.size() <= 1) return;
  begin_.emplace(device.type());
  begin_->record(current);
}

StreamSet::~StreamSet() {
  if (is_joined_) return;
  try {
    join();
  } catch (const std::exception&) {  // needs no handling, because the device is lost and kernels do not write any more
  }
}

void StreamSet::begin(size_t stream) const {
  if (are_begun_[stream]) return;
  begin_->block(streams_[stream]);
  are_begun_[stream] = true;
}

void StreamSet::run(size_t stream, const std::function<void()>& work) const {
  if (stream == 0 || streams_.size() <= 1) return work();
  begin(stream);
  const c10::StreamGuard guard(streams_[stream]);
  work();
}

void StreamSet::order(size_t before, size_t after) const {
  if (before == after || streams_.size() <= 1 || !are_begun_[before]) return;
  begin(after);
  order_streams(streams_[before], streams_[after]);
}

void StreamSet::join() {
  for (size_t i = 1; i < streams_.size(); ++i) order(i, 0);
  is_joined_ = true;
}

}  // namespace rnnlab
