// Measures the memory of a device with LibTorch's allocator, and the time of a GPU with events in its queue.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <optional>

namespace rnnlab {

// peak_memory_bytes returns the peak memory since the last reset. On a GPU the peak is the most bytes that LibTorch's
// caching allocator has handed out. On a CPU the peak is that of the resident set of the whole process, libraries
// included; nothing is returned if the system cannot reset its count.
void reset_peak_memory(c10::Device device);
std::optional<int64_t> peak_memory_bytes(c10::Device device);

// Frees the memory that the allocators keep of deleted tensors, on the CPU and on all GPUs, so that the next run, and
// the placement of its data, can use it.
void release_cached_memory();

// Measures the time between two moments by a GPU's own clock, with events in its queue. The result is right whether or
// not the host waited, so it is an independent check of the host's clock.

class DeviceSpan {
 public:
  explicit DeviceSpan(c10::Device device);

  // These functions record events on the current stream and do not wait.
  void begin();
  void end();

  // Returns the seconds between the two events, and waits for them. Nothing on a CPU, which has only the host's clock.
  std::optional<double> seconds() const;

 private:
  c10::Device device_;
  std::optional<c10::Event> begin_, end_;
};

}  // namespace rnnlab
