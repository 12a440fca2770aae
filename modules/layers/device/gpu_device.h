// SPDX-License-Identifier: Apache-2.0
// GPUs and their streams, by LibTorch's interface for all kinds of devices, which does not need CUDA's own libraries.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "layers/device/cuda_library.h"

namespace rnnlab {

inline constexpr int kLowestPriority = 0;
inline constexpr int kHighPriority = -1;

inline c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

// Returns one of LibTorch's streams. LibTorch has several of each priority and returns them in turn.
inline c10::Stream stream_from_pool(c10::Device device, int priority) {
  return c10::impl::VirtualGuardImpl(device.type()).getNewStream(device, priority);
}

// The events of one thread, by device. When a thread ends, a later thread gets its events. They are never destroyed,
// because a thread of LibTorch may end after CUDA did, and then destroying an event ends the process with an error.
class EventsOfThread {
 public:
  EventsOfThread() {
    Left& left = left_by_threads();
    const std::scoped_lock lock(left.mutex);
    if (left.events.empty()) return;
    events_ = std::move(left.events.back());
    left.events.pop_back();
  }
  ~EventsOfThread() {
    Left& left = left_by_threads();
    const std::scoped_lock lock(left.mutex);
    left.events.push_back(std::move(events_));
  }
  EventsOfThread(const EventsOfThread&) = delete;
  EventsOfThread& operator=(const EventsOfThread&) = delete;

  c10::Event& of(c10::Device device) { return events_.try_emplace(device, device.type()).first->second; }

 private:
  using Events = std::unordered_map<c10::Device, c10::Event>;

  struct Left {
    std::mutex mutex;
    std::vector<Events> events;
  };

  static Left& left_by_threads() {
    static auto& left = *new Left;
    return left;
  }

  Events events_;
};

// Work that is queued on stream `after` from now on waits for all work that is queued on stream `before` now.
// Recording an event again does not change what streams already wait for, so one event per thread and device is enough;
// creating one takes as long as recording it.
inline void order_streams(const c10::Stream& before, const c10::Stream& after) {
  static thread_local EventsOfThread events;
  c10::Event& event = events.of(before.device());
  event.record(before);
  event.block(after);
}

inline void synchronize(c10::Device device) {
  c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

inline constinit CudaFunction<int(c10::Stream)> priority_of_stream;

struct GpuProperties {
  std::string name;
  int major = 0, minor = 0;  // the compute capability
};
inline constinit CudaFunction<GpuProperties(c10::Device)> properties_of_gpu;

// Returns whether this build has code of its own kernels for the current GPU.
inline constinit CudaFunction<bool()> has_own_code;

// Returns why kernels that are compiled when they are first used, as those of `layer: persistent`, cannot be compiled
// or loaded, as one sentence; nothing if they can.
inline constinit CudaFunction<std::optional<std::string>()> why_no_persistent_kernels;

// Returns notes for the user about kernels that were compiled since the last call, and the folder that stores them.
inline constinit CudaFunction<std::vector<std::string>()> notes_on_compiled_kernels;
inline std::vector<std::string> take_kernel_notes() {
  return notes_on_compiled_kernels.is_defined() ? notes_on_compiled_kernels() : std::vector<std::string>();
}

// Returns the UUID as NVML writes it: "GPU-12345678-9abc-def0-1234-56789abcdef0".
inline constinit CudaFunction<std::string(c10::Device)> uuid_of_gpu;

}  // namespace rnnlab
